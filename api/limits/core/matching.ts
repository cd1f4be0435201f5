import { ANY_TIER, type LimitRule } from '../../../schemas/limit-rule.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import { parsePattern } from './endpoint-pattern.ts'
import { type CompiledRule, compileRule, DEFAULT_KEY_PREFIX } from './rule.ts'

/**
 * Rules compiled into a lookup table. The cost of a lookup depends on the depth of the path and not on the number of
 * rules.
 */
export interface RuleTable {
  /** Returns the rules that apply to a request. For each key, only the most specific rule applies. */
  match(method: string, path: string, caller: LimitedCaller): readonly CompiledRule[]
  readonly size: number
}

interface PlacedRule {
  readonly compiled: CompiledRule
  readonly method: string | undefined
}

/** Rules whose patterns differ only in the method. For each tier and method, `winners` caches the rules that apply. */
interface Place {
  readonly rules: PlacedRule[]
  readonly tiers: Set<string>
  readonly methods: Set<string>
  readonly winners: Map<string, readonly PlacedRule[]>
  /** The rules that apply in the usual case, in which no rule of the place names a tier or a method. */
  usual: readonly PlacedRule[] | undefined
}

/** Compiles rules into a table. Inactive rules, and rules whose pattern is not valid, are ignored. */
export function compileRules(rules: Iterable<LimitRule>, keyPrefix: string = DEFAULT_KEY_PREFIX): RuleTable {
  const exact = new Map<string, Place>()
  const prefixes = new Map<string, Place>()
  const global = newPlace()
  let size = 0
  for (const rule of rules) {
    const pattern = parsePattern(rule.endpoint_pattern)
    if (!rule.is_active || pattern === undefined) continue
    const place = pattern.kind === 'global' ? global : placeIn(pattern.kind === 'exact' ? exact : prefixes, pattern.path)
    place.rules.push({ compiled: compileRule(rule, keyPrefix), method: pattern.method })
    place.tiers.add(rule.tier)
    if (pattern.method !== undefined) place.methods.add(pattern.method)
    size++
  }
  // A call with one argument per prefix would overflow the stack if there are very many rules.
  const longestPrefix = prefixes.keys().reduce((longest, prefix) => Math.max(longest, prefix.length), 0)

  return {
    size,
    match(method, path, caller) {
      const found: CompiledRule[] = []
      take(exact.get(path), method, caller, found)
      // Looks up the prefixes from the longest to the shortest. Each prefix ends with a slash.
      if (prefixes.size > 0) {
        for (let end = path.lastIndexOf('/', longestPrefix - 1); end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
          take(prefixes.get(path.slice(0, end + 1)), method, caller, found)
        }
      }
      take(global, method, caller, found)
      return found
    },
  }
}

/** Adds the rules of a place that apply, except rules whose key already has a rule from a more specific pattern. */
function take(place: Place | undefined, method: string, caller: LimitedCaller, found: CompiledRule[]): void {
  if (place === undefined) return
  for (const { compiled } of winnersOf(place, method, caller.tier)) {
    if (compiled.appliesTo(caller) && !found.some(({ keyName }) => keyName === compiled.keyName)) found.push(compiled)
  }
}

function newPlace(): Place {
  return { rules: [], tiers: new Set(), methods: new Set(), winners: new Map(), usual: undefined }
}

function placeIn(places: Map<string, Place>, path: string): Place {
  const found = places.get(path) ?? newPlace()
  places.set(path, found)
  return found
}

/**
 * Finds the rules that apply to a method and a tier. The result is cached for each method and tier that the rules name.
 */
function winnersOf(place: Place, method: string, tier: string): readonly PlacedRule[] {
  if (place.usual !== undefined) return place.usual
  const named = place.methods.has(method) ? method : ''
  const known = place.tiers.has(tier) ? tier : ANY_TIER
  const id = `${named} ${known}`
  let winners = place.winners.get(id)
  if (winners === undefined) {
    const candidates = place.rules
      .filter((placed) => placed.method === undefined || placed.method === named)
      .filter(({ compiled: { rule } }) => rule.tier === known || rule.tier === ANY_TIER)
      .sort(mostSpecificFirst)
    const byKey = new Map<string, PlacedRule>()
    for (const placed of candidates) if (!byKey.has(placed.compiled.keyName)) byKey.set(placed.compiled.keyName, placed)
    winners = [...byKey.values()]
    place.winners.set(id, winners)
    if (place.methods.size === 0 && place.tiers.size === 1 && place.tiers.has(ANY_TIER)) place.usual = winners
  }
  return winners
}

/**
 * Orders the rules of one place: rules for a tier precede rules for `*`, then rules with a method precede rules
 * without one, and then newer rules precede older rules. The id breaks ties, so that all instances agree.
 */
function mostSpecificFirst(one: PlacedRule, other: PlacedRule): number {
  const [rule, otherRule] = [one.compiled.rule, other.compiled.rule]
  return (
    Number(rule.tier === ANY_TIER) - Number(otherRule.tier === ANY_TIER) ||
    Number(one.method === undefined) - Number(other.method === undefined) ||
    otherRule.created_at - rule.created_at ||
    (rule.rule_id < otherRule.rule_id ? -1 : 1)
  )
}
