import type { PipelinesConfig } from '../../config.ts'
import type { Topology } from '../../engine/index.ts'
import { clicksTopology } from './topology.ts'
import { keptVisitorSecret } from './visitor-secret.ts'

/** What counts clicks, by the process's settings. */
export function clickTopologies({ clicks, stateDir }: PipelinesConfig): Topology[] {
  const { visitorSecret = keptVisitorSecret(stateDir), countryDatabase, keepAddresses } = clicks
  return [clicksTopology({ visitorSecret, countryDatabase, keepAddresses })]
}
