import { apiServices } from '../../api/services.ts'
import { servicesFor } from '../../pipelines/choice.ts'
import { splitList } from '../../settings/variables.ts'
import type { OptionalServer } from '../../state/optional-servers.ts'
import type { LocalConfig } from './config.ts'
import type { ServerName } from './server-names.ts'

/** Returns the optional servers that the chosen pipelines and API services need, each once. */
export function chosenServers(config: Pick<LocalConfig, 'pipelines' | 'apiServices'>): readonly OptionalServer[] {
  const chosenPipelines = config.pipelines === undefined || config.pipelines === 'all' ? [] : splitList(config.pipelines)
  const chosenApis = config.apiServices === undefined ? undefined : splitList(config.apiServices)
  const running = [...servicesFor('all', chosenPipelines), ...apiServices.filter(({ name }) => chosenApis?.includes(name) ?? true)]
  return [...new Set(running.flatMap(({ optionalServers = [] }) => optionalServers))]
}

/** Returns the servers that the stack starts itself. */
export function ownServers(config: Pick<LocalConfig, ServerName | 'pipelines' | 'apiServices'>): ServerName[] {
  const used: ServerName[] = ['kafka', 'redis', 'clickhouse', 'registry', ...chosenServers(config)]
  return used.filter((name) => config[name].given === undefined)
}
