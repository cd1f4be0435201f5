import type { BlocklistInForce, SettingsInForce } from '../../../api/fraud/in-force.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import { NO_LISTS } from '../../../schemas/fraud/rules/facts.ts'
import { compileRuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'

const NOTHING_TO_CLOSE = { probes: [], close: async () => undefined }

/** The seeded rules and the default policy. */
export function defaultSettings(): SettingsInForce {
  const ruleSet = compileRuleSet(0, SEEDED_RULES)
  return {
    ruleSet,
    tallies: new RuleTallies(ruleSet),
    lists: NO_LISTS,
    snoozes: NO_SNOOZES,
    policy: DEFAULT_POLICY,
    models: { champion: {}, challenger: undefined },
    isStale: false,
    ...NOTHING_TO_CLOSE,
  }
}

export const EMPTY_BLOCKLIST: BlocklistInForce = { find: () => undefined, isStale: false, ...NOTHING_TO_CLOSE }
