import type { ScoredTransaction } from '../../schemas/fraud/rules/field.ts'
import { FIELDS } from '../../schemas/fraud/rules/fields.ts'
import type { Rule, RuleAction } from '../../schemas/fraud/rules/rule.ts'
import { SEEDED_RULES } from '../../schemas/fraud/rules/seeded.ts'
import { pick, type Random } from '../../tools/random/random.ts'

const ACTIONS: readonly RuleAction[] = ['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']
const COUNTRIES = ['DE', 'FR', 'US', 'BR', 'IN', 'GB', 'NL', 'PL']
const CATEGORIES = ['books', 'travel', 'gaming', 'grocery', 'electronics']
/** Maximum amount or count in a comparison. It is chosen so that some rules match, and most do not. */
const MAX_LIMIT = 2_000
const MAX_PARTS = 5
const MIN_PARTS = 2
const OR_SHARE = 0.25
const MISSING_SHARE = 0.15
const TRUE_SHARE = 0.1
const LIST_SIZE = 10_000
const MERCHANTS = 20_000
const OTHER_IDS = 1_000
const TIMESTAMP_MS = Date.UTC(2026, 0, 1)
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** Lists that some of the rules refer to. */
export const BENCH_LISTS = new Map([['trusted', new Set(Array.from({ length: LIST_SIZE }, (_, index) => `m${index}`))]])

const numbers = FIELDS.filter(({ type }) => type === 'number').map(({ name }) => name)
const booleans = FIELDS.filter(({ type }) => type === 'boolean').map(({ name }) => name)

/** Kinds of comparisons in generated rules. */
const PARTS: readonly ((random: Random) => string)[] = [
  (random) => `${pick(random, numbers)} > ${limit(random)}`,
  (random) => `${pick(random, numbers)} <= ${limit(random)}`,
  (random) => `${pick(random, numbers)} >= ${limit(random)}`,
  (random) => `${pick(random, numbers)} BETWEEN ${limit(random)} AND ${MAX_LIMIT}`,
  (random) => `${pick(random, numbers)} > 2 * ${pick(random, numbers)} + 1`,
  (random) => pick(random, booleans),
  (random) => `NOT ${pick(random, booleans)}`,
  () => "payer.country IN ('DE', 'FR', 'US', 'BR')",
  () => 'payment.bin_country != ip.geo_country',
  (random) => `payee.merchant_category = '${pick(random, CATEGORIES)}'`,
  () => "contains(lower(device.user_agent), 'headless')",
  () => "inList('trusted', payee.merchant_id)",
  () => 'payer.country IS MISSING',
]

function limit(random: Random): number {
  return Math.round(random() ** 3 * MAX_LIMIT)
}

/** Returns `count` rules: first the seeded rules, then generated rules with two to five comparisons each. */
export function benchRules(count: number, random: Random): Rule[] {
  const generated = Array.from({ length: Math.max(0, count - SEEDED_RULES.length) }, (_, index): Rule => {
    const parts = Array.from({ length: MIN_PARTS + Math.floor(random() * (MAX_PARTS - MIN_PARTS + 1)) }, () => pick(random, PARTS)(random))
    const condition = random() < OR_SHARE ? `(${parts[0]} OR ${parts[1]}) AND ${parts.at(-1)}` : parts.join(' AND ')
    return { ...SEEDED_RULES[0], rule_id: `bench-${index}`, name: 'generated', condition, action: pick(random, ACTIONS), priority: index }
  })
  return [...SEEDED_RULES, ...generated].slice(0, count)
}

/** Returns a transaction in which some optional fields are missing. */
export function benchTransaction(random: Random): ScoredTransaction {
  const transaction = { request: { timestamp: TIMESTAMP_MS }, ip: {}, features: {} }
  for (const { type, source, optional } of FIELDS) {
    if (typeof source !== 'string' || (optional && random() < MISSING_SHARE)) continue
    const names = source.split('.')
    let parent = transaction as Record<string, unknown>
    for (const name of names.slice(0, -1)) {
      parent[name] ??= {}
      parent = parent[name] as Record<string, unknown>
    }
    parent[names.at(-1)!] = sampleOf(source, type, random)
  }
  return transaction
}

function sampleOf(source: string, type: string, random: Random): unknown {
  if (type === 'number') return limit(random)
  if (type === 'boolean') return random() < TRUE_SHARE
  if (type === 'country') return pick(random, COUNTRIES)
  if (type === 'tier') return 'NORMAL'
  if (source.endsWith('merchant_category')) return pick(random, CATEGORIES)
  if (source.endsWith('merchant_id')) return `m${Math.floor(random() * MERCHANTS)}`
  if (source.endsWith('user_agent')) return USER_AGENT
  return `${source}-${Math.floor(random() * OTHER_IDS)}`
}
