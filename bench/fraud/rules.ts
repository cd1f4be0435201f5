import { evaluateRules } from '../../schemas/fraud/rules/evaluate.ts'
import { factsOfTransaction } from '../../schemas/fraud/rules/read-facts.ts'
import { MAX_ACTIVE_RULES } from '../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES } from '../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../schemas/fraud/rules/tallies.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { quantile } from '../harness/table.ts'
import { BENCH_LISTS, benchRules, benchTransaction } from './rule-load.ts'

const SEED = 42
const TRANSACTIONS = 2_000
const WARM_UP_ROUNDS = 3
const ROUNDS = 15

export interface RuleTimes {
  readonly compileMs: number
  /** Mean number of live rules that match a transaction. */
  readonly matches: number
  /** Times of all evaluations, in ms. They include delays caused by other processes on the machine. */
  readonly all: { readonly median: number; readonly p99: number }
  /** Times of the fastest evaluation of each transaction, in ms. Other processes hardly affect them. */
  readonly fastest: { readonly median: number; readonly p99: number }
}

/** Measures the time to read the facts of a transaction and to evaluate the maximum number of active rules. */
export function measureRules(): RuleTimes {
  const random = seededRandom(SEED)
  const rules = benchRules(MAX_ACTIVE_RULES, random)
  const transactions = Array.from({ length: TRANSACTIONS }, () => benchTransaction(random))
  const compileStart = performance.now()
  const ruleSet = compileRuleSet(1, rules)
  const compileMs = performance.now() - compileStart
  if (ruleSet.live.length !== MAX_ACTIVE_RULES)
    throw new Error(`some rules do not compile, for example ${JSON.stringify(ruleSet.broken[0])}`)
  const tallies = new RuleTallies(ruleSet)
  const clock = () => performance.now()
  const all: number[] = []
  const fastest = new Float64Array(TRANSACTIONS).fill(Number.POSITIVE_INFINITY)
  let matches = 0
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [index, transaction] of transactions.entries()) {
      const start = performance.now()
      const facts = factsOfTransaction(transaction)
      const { matched } = evaluateRules(ruleSet, { facts, lists: BENCH_LISTS, snoozes: NO_SNOOZES, at: 0 }, tallies, clock)
      const ms = performance.now() - start
      if (round < 0) continue
      matches += matched.length
      all.push(ms)
      fastest[index] = Math.min(fastest[index], ms)
    }
  }
  return { compileMs, matches: matches / all.length, all: timesOf(all), fastest: timesOf([...fastest]) }
}

function timesOf(ms: number[]): { median: number; p99: number } {
  const sorted = ms.sort((one, other) => one - other)
  return { median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}
