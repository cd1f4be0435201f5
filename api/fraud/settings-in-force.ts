import type { Lists } from '../../schemas/fraud/rules/facts.ts'
import { describeFault } from '../../schemas/fraud/rules/faults.ts'
import { compileRuleSet, type RuleSet } from '../../schemas/fraud/rules/rule-set.ts'
import { type Snoozes, snoozesOf } from '../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../schemas/fraud/rules/tallies.ts'
import { initialModels, initialRuleSet } from '../../schemas/fraud/settings/initial.ts'
import { COUNTS_KEY, listKey, MODELS_KEY, RULES_KEY } from '../../schemas/fraud/settings/keys.ts'
import { policyOf } from '../../schemas/fraud/settings/policy.ts'
import { fraudRulesets } from '../../schemas/fraud/topics.ts'
import type { FraudModels, FraudRuleSet, FraudSnooze } from '../../schemas/fraud/types.ts'
import type { ServiceKit } from '../service.ts'
import { type HeldList, type HeldSetting, settingsHolding } from './held-settings.ts'
import type { ModelAssignment, SettingsInForce } from './in-force.ts'

/**
 * The settings in force, with the data that the routes about settings show. Reading a setting throws ApiError
 * `not_ready` until the settings have been read.
 */
export interface FraudSettingsInForce extends SettingsInForce {
  /** All rules, including disabled ones, and the versions that can be restored. */
  readonly rules: FraudRuleSet
  readonly allLists: readonly HeldList[]
  list(name: string): HeldList | undefined
  readonly allSnoozes: readonly FraudSnooze[]
  readonly assignedModels: FraudModels
  /**
   * Waits until a change is in force in this process, so that the caller can then read its own change. Gives up after
   * SEEN_WITHIN_MS.
   */
  untilSeen(revision: number): Promise<void>
}

/**
 * Data derived from the settings. A part stays the same object if a change does not affect it. The only exception is
 * `models`.
 */
interface Derived {
  readonly revision: number
  readonly rules: FraudRuleSet
  readonly ruleSet: RuleSet
  readonly tallies: RuleTallies
  readonly allLists: readonly HeldList[]
  readonly lists: Lists
  readonly allSnoozes: readonly FraudSnooze[]
  readonly snoozes: Snoozes
  readonly assignedModels: FraudModels
  readonly policy: SettingsInForce['policy']
  readonly models: ModelAssignment
}

/**
 * How long changes are collected before they are applied together. Applying each change separately would be costly,
 * because compiling hundreds of rules takes a few milliseconds.
 */
const DERIVE_AFTER_MS = 20
const INITIAL_RULE_SET = initialRuleSet()
const INITIAL_MODELS = initialModels()
/** How long to wait for a change. Normally, a change can be read about 30 ms after its commit. */
const SEEN_WITHIN_MS = 1_000

/**
 * Follows the settings. A change normally reaches every process within a second. A process that starts while Kafka is
 * unavailable uses the last settings that were saved on its machine.
 */
export async function openSettingsInForce({ smallTables, log }: Pick<ServiceKit, 'smallTables' | 'log'>): Promise<FraudSettingsInForce> {
  let derived: Derived | undefined
  let deriving: NodeJS.Timeout | undefined
  let waiting: { readonly revision: number; seen(): void }[] = []
  const table = await smallTables(fraudRulesets, settingsHolding(changed))

  function changed(): void {
    // The first settings are applied without delay, because the process becomes ready as soon as they are read.
    if (derived === undefined) queueMicrotask(derive)
    else deriving ??= setTimeout(derive, DERIVE_AFTER_MS)
  }

  function derive(): void {
    deriving = undefined
    const previous = derived
    derived = derivedFrom(table.entries(), previous)
    if (derived.ruleSet !== previous?.ruleSet) {
      for (const { rule, faults } of derived.ruleSet.broken)
        log.error({ rule_id: rule.rule_id, fault: describeFault(faults[0]) }, 'fraud_rule_set_aside')
      log.info({ ruleset_version: derived.ruleSet.version, rules: derived.ruleSet.rules.length }, 'fraud_rules_in_force')
    }
    const { revision } = derived
    for (const { seen } of waiting.filter((one) => one.revision <= revision)) seen()
    waiting = waiting.filter((one) => one.revision > revision)
  }

  function current(): Derived {
    // `entries` throws until the settings have been read.
    if (derived === undefined) table.entries()
    if (derived === undefined) derive()
    return derived!
  }

  return {
    get ruleSet() {
      return current().ruleSet
    },
    get tallies() {
      return current().tallies
    },
    get lists() {
      return current().lists
    },
    get snoozes() {
      return current().snoozes
    },
    get policy() {
      return current().policy
    },
    get models() {
      return current().models
    },
    get rules() {
      return current().rules
    },
    get allLists() {
      return current().allLists
    },
    list(name) {
      current()
      return table.entries().get(listKey(name))?.list ?? undefined
    },
    get allSnoozes() {
      return current().allSnoozes
    },
    get assignedModels() {
      return current().assignedModels
    },
    get isStale() {
      return table.isStale
    },
    probes: table.probes,
    async untilSeen(revision) {
      if (current().revision >= revision) return
      await new Promise<void>((resolve) => {
        const seen = () => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting = waiting.filter((one) => one.seen !== seen)
          resolve()
        }, SEEN_WITHIN_MS)
        waiting.push({ revision, seen })
      })
    },
    async close() {
      clearTimeout(deriving)
      await table.close()
    },
  }
}

function derivedFrom(entries: ReadonlyMap<string, HeldSetting>, previous: Derived | undefined): Derived {
  const rules = entries.get(RULES_KEY)?.rules ?? INITIAL_RULE_SET
  const ruleSet = rules === previous?.rules ? previous.ruleSet : compileRuleSet(rules.version, rules.rules, previous?.ruleSet)
  const allLists = kept(presentOf(entries, 'list'), previous?.allLists)
  const allSnoozes = kept(ofPresentRules(presentOf(entries, 'snooze'), rules), previous?.allSnoozes)
  const assignedModels = entries.get(MODELS_KEY)?.models ?? INITIAL_MODELS
  const { champion, challenger } = assignedModels
  return {
    revision: entries.get(COUNTS_KEY)?.counts?.revision ?? 0,
    rules,
    ruleSet,
    tallies: ruleSet === previous?.ruleSet ? previous.tallies : new RuleTallies(ruleSet),
    allLists,
    lists: allLists === previous?.allLists ? previous.lists : new Map(allLists.map(({ name, values }) => [name, values])),
    allSnoozes,
    snoozes: allSnoozes === previous?.allSnoozes ? previous.snoozes : snoozesOf(allSnoozes),
    assignedModels,
    policy: assignedModels === previous?.assignedModels ? previous.policy : policyOf(champion.policy),
    models: { champion: champion.versions, challenger: challenger?.versions },
  }
}

/**
 * Leaves out the snoozes of removed rules whose id now belongs to a newer rule. These snoozes become valid again if a
 * roll-back restores the removed rule.
 */
function ofPresentRules(snoozes: readonly FraudSnooze[], { rules }: FraudRuleSet): FraudSnooze[] {
  const since = new Map(rules.map(({ rule_id, created_at }) => [rule_id, created_at]))
  return snoozes.filter(({ rule_id, created_at }) => created_at >= (since.get(rule_id) ?? 0))
}

type Part = 'list' | 'snooze'

function presentOf<P extends Part>(entries: ReadonlyMap<string, HeldSetting>, part: P): NonNullable<HeldSetting[P]>[] {
  const found: NonNullable<HeldSetting[P]>[] = []
  for (const setting of entries.values()) {
    const value = setting[part]
    if (value !== null) found.push(value as NonNullable<HeldSetting[P]>)
  }
  return found
}

/**
 * Returns the earlier array if both arrays have the same members. Values derived from the array then need not be
 * computed again.
 */
function kept<T>(found: readonly T[], earlier: readonly T[] | undefined): readonly T[] {
  const isSame = earlier?.length === found.length && found.every((one, index) => one === earlier[index])
  return isSame ? earlier : found
}
