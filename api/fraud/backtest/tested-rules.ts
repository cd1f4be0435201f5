import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Compiled, compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { RuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { exceededRuleLimit } from '../../../schemas/fraud/settings/rule-limits.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { fraudErrors } from '../errors.ts'
import { faultJson } from '../rules/model.ts'
import type { BacktestRequest, RuleDraft } from './model.ts'

/** The rules that a back-test evaluates. */
export interface TestedRules {
  /** Version of the rule set; null for drafts. */
  readonly version: number | null
  readonly rules: readonly Rule[]
  /** Names of the lists that the rules read. */
  readonly lists: ReadonlySet<string>
}

/** The stored rules that a back-test can use. */
export interface KnownRules {
  /** The current version of the rule set, and all of its rules, including disabled rules. */
  readonly current: { readonly version: number; readonly rules: readonly Rule[] }
  readonly ruleSet: RuleSet
  /** Returns the rules of a version; undefined if the version cannot be restored. */
  ofVersion(version: number): Promise<readonly Rule[] | undefined>
}

/**
 * Number of conditions that are compiled between two pauses. Compiling them takes about a millisecond. Other requests
 * are handled during the pauses.
 */
const CONDITIONS_PER_TURN = 20

/**
 * Returns the rules that a request asks to test. Drafts are refused for the same reasons as new rules.
 * @param author the subject of the caller's token
 * @param now epoch ms
 * @throws ApiError `invalid_condition`, `invalid_request`, `settings_limit_reached`, `ruleset_version_not_found`
 */
export async function testedRules(request: BacktestRequest, known: KnownRules, author: string, now: number): Promise<TestedRules> {
  const { current, ruleSet } = known
  const { rule, rules, ruleset_version: version } = request
  const compile = compiler(ruleSet)

  async function listsOf(tested: readonly Rule[]): Promise<ReadonlySet<string>> {
    const names = new Set<string>()
    for (const { condition } of tested) {
      const compiled = await compile(condition)
      if (compiled.ok) for (const list of compiled.condition.lists) names.add(list)
    }
    return names
  }

  async function ruleOf(draft: RuleDraft, place: string): Promise<Rule> {
    const compiled = await compile(draft.condition)
    if (!compiled.ok) {
      const details = compiled.faults.map((fault) => ({ path: `${place}.condition`, ...faultJson(fault) }))
      throw new ApiError(fraudErrors.invalid_condition, { details })
    }
    const { created_by = author, created_at: _at, updated_at: _since, fault: _fault, ...given } = draft
    return { ...given, created_by, created_at: now, updated_at: now }
  }

  async function drafted(): Promise<readonly Rule[]> {
    const drafts: Rule[] = []
    for (const [index, draft] of (rules ?? [rule!]).entries()) {
      drafts.push(await ruleOf(draft, rules === undefined ? 'body.rule' : `body.rules[${index}]`))
    }
    const ids = new Set(drafts.map(({ rule_id }) => rule_id))
    if (ids.size < drafts.length) throw invalidRequest('body.rules', 'must contain each rule_id only once')
    const tested = rules === undefined ? [...current.rules.filter(({ rule_id }) => !ids.has(rule_id)), ...drafts] : drafts
    const limit = exceededRuleLimit(rules === undefined ? current.rules : [], tested, now)
    if (limit !== undefined) throw new ApiError(fraudErrors.settings_limit_reached, { message: limit })
    return tested
  }

  async function stored(): Promise<readonly Rule[]> {
    if (version === undefined || version === current.version) return current.rules
    const found = await known.ofVersion(version)
    if (found === undefined) throw new ApiError(fraudErrors.ruleset_version_not_found)
    return found
  }

  const isDraft = rule !== undefined || rules !== undefined
  const tested = isDraft ? await drafted() : await stored()
  return { version: isDraft ? null : (version ?? current.version), rules: tested, lists: await listsOf(tested) }
}

/**
 * Returns a function that compiles conditions, with pauses so that other requests are not delayed. The function reuses
 * the compiled conditions of the rules in force.
 */
function compiler(ruleSet: RuleSet): (text: string) => Promise<Compiled> {
  const known = new Map<string, Compiled>(ruleSet.rules.map(({ rule, condition }) => [rule.condition, { ok: true, condition }]))
  let compiled = 0
  return async function compile(text) {
    let result = known.get(text)
    if (result === undefined) {
      if (++compiled % CONDITIONS_PER_TURN === 0) await nextTurn()
      result = compileCondition(text)
      known.set(text, result)
    }
    return result
  }
}
