import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { type ClickReader, clickReader } from './clicks/click-details.ts'
import { type ClickSettings, clickSettings } from './clicks/settings.ts'
import { clickSinks } from './clicks/sinks.ts'
import { clicksTopology } from './clicks/topology.ts'
import { keptVisitorSecret } from './clicks/visitor-secret.ts'
import { linkSinks } from './sinks.ts'
import { links } from './topology.ts'

const deciding: PipelineService = { name: 'links', role: 'deciding', settings: NO_SETTINGS, topologies: () => [links], sinks: linkSinks }

const clicks: PipelineService<ClickSettings, ClickReader> = {
  name: 'clicks',
  role: 'bulk',
  settings: clickSettings,
  prepare: (settings, { stateDir }) => clickReader({ ...settings, visitorSecret: settings.visitorSecret ?? keptVisitorSecret(stateDir) }),
  topologies: (reader) => [clicksTopology(reader)],
  sinks: clickSinks,
}

export const linksServices: readonly PipelineService[] = [deciding, clicks]
