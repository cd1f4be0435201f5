import { evaluateRules } from '../../../schemas/fraud/rules/evaluate.ts'
import type { Facts } from '../../../schemas/fraud/rules/facts.ts'
import { factsOfTransaction } from '../../../schemas/fraud/rules/read-facts.ts'
import { MAX_ACTIVE_RULES } from '../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { quantile } from '../../harness/table.ts'
import { whereInstalled } from '../../peer-missing.ts'
import { BENCH_LISTS, benchRules, benchTransaction } from '../rule-load.ts'
import { openJsonRules } from './json-rules-engine.ts'
import type { PeerEngine } from './peer-engine.ts'
import { openZen } from './zen-engine.ts'

const SEED = 42
/** Number of transactions. It is small because peers take milliseconds per transaction. */
const TRANSACTIONS = 150
const ROUNDS = 5

export interface PeerTimes {
  readonly name: string
  /**
   * Median over all transactions, in ms. For each transaction, only the fastest round counts, because other processes
   * have disturbed it least.
   */
  readonly median: number
  readonly p99: number
}

/**
 * Measures Millrace's engine and its peers on the same rules and transactions, one engine after the other in each
 * round. The times exclude reading the facts, but include converting the facts into the form that an engine needs.
 * @throws Error if the result of a peer differs from Millrace's
 */
export async function measurePeers(): Promise<PeerTimes[]> {
  const random = seededRandom(SEED)
  const rules = benchRules(MAX_ACTIVE_RULES, random)
  const ruleSet = compileRuleSet(1, rules)
  const tallies = new RuleTallies(ruleSet)
  const ours: PeerEngine = {
    name: 'Millrace',
    async matches(facts) {
      const input = { facts, lists: BENCH_LISTS, snoozes: NO_SNOOZES, at: 0 }
      return evaluateRules(ruleSet, input, tallies, () => performance.now()).matched.map(({ rule_id }) => rule_id)
    },
  }
  const peers = [
    await whereInstalled('json-rules-engine', () => openJsonRules(rules, BENCH_LISTS)),
    await whereInstalled('@gorules/zen-engine', () => openZen(rules, BENCH_LISTS)),
  ]
  const transactions = Array.from({ length: TRANSACTIONS }, () => factsOfTransaction(benchTransaction(random)))
  const answers = new Map<Facts, string>()
  const engines = [ours, ...peers.filter((peer) => peer !== undefined)].map((engine) => {
    return { engine, fastest: new Float64Array(TRANSACTIONS).fill(Number.POSITIVE_INFINITY) }
  })
  for (let round = 0; round < ROUNDS; round++) {
    for (const { engine, fastest } of engines) {
      for (const [index, facts] of transactions.entries()) {
        const { matched, took } = await timed(engine, facts)
        fastest[index] = Math.min(fastest[index], took)
        const answer = matched.toSorted().join(' ')
        const expected = answers.get(facts) ?? answer
        answers.set(facts, expected)
        if (answer !== expected) throw new Error(`${engine.name} matches different rules:\n${answer}\ninstead of\n${expected}`)
      }
    }
  }
  return engines.map(({ engine: { name }, fastest }) => {
    const sorted = [...fastest].sort((one, other) => one - other)
    return { name, median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
  })
}

async function timed(engine: PeerEngine, facts: Facts): Promise<{ readonly matched: readonly string[]; readonly took: number }> {
  const start = performance.now()
  const matched = await engine.matches(facts)
  return { matched, took: performance.now() - start }
}
