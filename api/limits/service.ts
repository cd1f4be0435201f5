import {
  limitAudit,
  limitClients,
  limitCommands,
  limitDecisions,
  limitRules,
  limitTraffic,
  limitViolations,
} from '../../schemas/limits/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { ApiService } from '../service.ts'
import type { RunningLimits } from './core/start.ts'

/**
 * Describes the service that manages rules and API keys. This service also opens the limiter in front of all services.
 */
export const limitsService: ApiService<unknown, RunningLimits> = {
  name: 'limits',
  settings: NO_SETTINGS,
  topics: [limitCommands, limitDecisions, limitRules, limitClients, limitAudit, limitViolations, limitTraffic],
  limitedPaths: ['/api/v1/*'],
  examples: () => [],
  async openGuard(kit) {
    const { startLimits } = await import('./core/start.ts')
    return await startLimits({ ...kit, redisUrl: kit.state.redisUrl, redisCluster: kit.state.redisCluster })
  },
  async open(kit, _settings, limits) {
    if (limits === undefined) throw new Error('the limits service cannot open: openGuard was not called')
    const { limitsHandlers } = await import('./handlers.ts')
    return limitsHandlers({ ...kit, ...limits })
  },
}
