import { fraudBlocklist, fraudBlocklistCommands, fraudBlocklistDecisions } from '../../schemas/fraud/blocklist/topics.ts'
import { fraudCaseCommands, fraudCases } from '../../schemas/fraud/cases/topics.ts'
import { fraudRuleTallies } from '../../schemas/fraud/rule-stats/topics.ts'
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

/** Scores the fraud risk of payments. */
export const fraudService: ApiService<FraudSettings> = {
  name: 'fraud',
  settings: fraudSettings,
  topics: [
    txnScored,
    fraudFeedback,
    fraudProfiles,
    fraudRuleTallies,
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
  examples: (api) => [
    {
      what: 'a scored payment',
      command: `curl -s -H "Authorization: Bearer $(npm run --silent token -- --sub 1 --scope internal)" -H 'content-type: application/json' ${api}/api/v1/transactions/score -d '{"transaction_id":"'$RANDOM'","timestamp":"'$(date -u +%FT%TZ)'","amount":20,"currency":"USD","transaction_type":"PURCHASE","payer":{"user_id":"u1"}}'`,
    },
    { what: 'the desk of fraud scoring', command: `open ${api}/fraud` },
  ],
  async open(kit, settings) {
    const { fraudHandlers } = await import('./handlers.ts')
    return fraudHandlers({ ...kit, ...settings })
  },
}
