import { fraudBlocklist, fraudBlocklistCommands, fraudBlocklistDecisions } from '../../schemas/fraud/blocklist/topics.ts'
import { fraudCaseCommands, fraudCases } from '../../schemas/fraud/cases/topics.ts'
import {
  fraudAudit,
  fraudFeedback,
  fraudProfiles,
  fraudRulesets,
  fraudSettingsCommands,
  fraudSettingsDecisions,
  txnScored,
} from '../../schemas/fraud/topics.ts'
import type { ApiService } from '../service.ts'
import { type FraudSettings, fraudSettings } from './settings.ts'

/** Scores of payments. */
export const fraudService: ApiService<FraudSettings> = {
  name: 'fraud',
  settings: fraudSettings,
  topics: [
    txnScored,
    fraudFeedback,
    fraudProfiles,
    fraudCaseCommands,
    fraudCases,
    fraudBlocklistCommands,
    fraudBlocklistDecisions,
    fraudBlocklist,
    fraudSettingsCommands,
    fraudSettingsDecisions,
    fraudRulesets,
    fraudAudit,
  ],
  limitedPaths: ['/api/v1/*'],
  examples: () => [],
  async open(kit, settings) {
    const { fraudHandlers } = await import('./handlers.ts')
    return fraudHandlers({ ...kit, ...settings })
  },
}
