import { expect, test } from 'vitest'
import { seededRandom } from '../../../tools/random/random.ts'
import { memoryConfig } from '../config.ts'
import { startCallers } from './callers.ts'
import type { StockLog } from './log.ts'
import { memoryShop } from './memory-shop.ts'
import { memoryWorld, STEP_MS } from './memory-world.ts'
import { judgeStock, type Outage } from './verdict.ts'

const { seeds, from } = memoryConfig()
const HOUR_MS = 3_600_000
const HELD_MS = 3_000
const CALLERS = 12
const ACTIONS = 6
const CRASHES = 0.03
const LOSSES = 0.03
/** Longest delay of a repetition. It is longer than the lifetime of a command. */
const LONGEST_REPEAT_MS = 40_000
/**
 * Time after which all reservations have ended. The last to end are those of a cart that never opened: they end a
 * minute after the cart would have ended.
 */
const ALL_ENDED_MS = HELD_MS + 65_000
/** Maximum number of steps in a run. A run normally takes a few hundred. */
const MOST_STEPS = 20_000
/** Seed of a round that contains every frequent kind of movement. */
const VERDICT_SEED = 1
const RUN_TIMEOUT_MS = 120_000

interface Played {
  readonly log: StockLog
  readonly outages: readonly Outage[]
  readonly otherAnswers: readonly string[]
}

async function play(seed: number): Promise<Played> {
  const random = seededRandom(seed)
  const world = memoryWorld(random, { crashes: CRASHES, losses: LOSSES })
  const options = { name: 'key', callers: CALLERS, actions: ACTIONS, longestRepeatMs: LONGEST_REPEAT_MS }
  const callers = startCallers(memoryShop(world, HELD_MS), random, options)
  let areDone = false
  void callers.done.then(() => {
    areDone = true
  })
  for (let steps = 0; !areDone; steps++) {
    if (steps > MOST_STEPS) throw new Error(`seed ${seed}: the callers did not finish within ${MOST_STEPS} steps`)
    await world.step(false)
  }
  for (let passed = 0; passed < ALL_ENDED_MS; passed += STEP_MS) await world.step(true)
  const repeated = callers.repeatAll()
  for (let steps = 0; steps < 20; steps++) await world.step(true)
  return { log: world.log(), outages: world.outages, otherAnswers: await repeated }
}

test.each(Array.from({ length: seeds }, (_, index) => from + index))(
  'seed %i: with crashes, lost commands and lost answers, stock agrees with the log, and nothing is sold twice',
  async (seed) => {
    const { log, outages, otherAnswers } = await play(seed)
    const { faults, open } = judgeStock(log, outages)
    expect(faults).toEqual([])
    expect(open).toBe(0)
    expect(otherAnswers).toEqual([])
  },
  RUN_TIMEOUT_MS,
)

test(
  'the verdict finds movements that are lost, repeated, changed, too early or too late, and wrong answers',
  async () => {
    const { log, outages } = await play(VERDICT_SEED)
    const { inventoryChanged: movements, inventoryDecisions: decisions, reservationOutcomes: outcomes } = log
    const kinds = new Set(movements.map(({ value }) => value.kind))
    for (const kind of ['RECEIVE', 'RESERVE', 'DEDUCT', 'RELEASE', 'EXPIRE'] as const) expect(kinds).toContain(kind)
    const faultsWith = (changed: Partial<StockLog>) => judgeStock({ ...log, ...changed }, outages).faults.length
    const middle = movements.length >> 1
    const expiry = movements.findIndex(({ value }) => value.kind === 'EXPIRE')
    const replaced = (at: number, value: object) =>
      movements.map((one, index) => (index === at ? { ...one, value: { ...one.value, ...value } } : one))
    expect(faultsWith({})).toBe(0)
    expect(faultsWith({ inventoryChanged: movements.toSpliced(middle, 1) })).toBeGreaterThan(0)
    expect(faultsWith({ inventoryChanged: movements.toSpliced(middle, 0, movements[middle]) })).toBeGreaterThan(0)
    expect(faultsWith({ inventoryChanged: replaced(middle, { available: 1_000 }) })).toBeGreaterThan(0)
    expect(faultsWith({ inventoryChanged: replaced(expiry, { at: 0 }) })).toBeGreaterThan(0)
    const muchLater = movements[expiry].value.at + HOUR_MS
    expect(faultsWith({ inventoryChanged: replaced(expiry, { at: muchLater }) })).toBeGreaterThan(0)
    expect(faultsWith({ reservationOutcomes: outcomes.slice(1) })).toBeGreaterThan(0)
    expect(faultsWith({ reservationOutcomes: [...outcomes, outcomes[0]] })).toBeGreaterThan(0)
    const refused = decisions.findIndex(({ value }) => value?.result?.answer.includes('"out_of_stock"'))
    const answer = '{"outcome":"out_of_stock","variant_id":1,"warehouse_id":null,"available":99}'
    const value = { view: null, result: { ...decisions[refused].value!.result!, answer } }
    const lied = decisions.filter((one) => one.value?.result?.command_id !== value.result.command_id)
    expect(faultsWith({ inventoryDecisions: [...lied, { ...decisions[refused], value }] })).toBeGreaterThan(0)
  },
  RUN_TIMEOUT_MS,
)
