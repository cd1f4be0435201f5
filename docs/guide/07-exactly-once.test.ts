/**
 * # 7. Exactly once
 *
 * Riders pay from a prepaid balance. A ride that is charged twice costs a customer, a ride that is not charged costs money, and
 * processes die in the middle of both. This chapter kills one at every possible place.
 *
 * You need chapters 1 to 3.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue, type KeyedStore, keyedStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { DriverCrash, type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const cents = avroValue<number>('int')

/** Key: the rider. Value: what is to be paid. */
const fares: Topic<string, number> = { name: 'fares', key: utf8, value: cents, partitions: 1 }
/** Key: the rider. Value: the balance after a payment. */
const balances: Topic<string, number> = { name: 'balances', key: utf8, value: cents, partitions: 1 }

const START_CENTS = 1_000

/** How often the processor ran, in all lives of the process. */
let runs = 0

const payments = topology('payments', (t) => {
  const known = keyedStore('balances', { key: utf8, value: cents })
  t.source(fares).process(
    'pay',
    { reads: (_fare, rider) => known.prefetch(rider), stores: [known], emits: [balances] },
    function payFare(fare, ctx) {
      runs++
      const balance = (known.get(ctx.key) ?? START_CENTS) - fare
      known.put(ctx.key, balance)
      ctx.emit(balances, ctx.key, balance)
    },
  )
})

function paid(driver: TestDriver): (number | null)[] {
  return driver.read(balances).map((record) => record.value)
}

/*
 * ## The commit
 *
 * Between two commits a task only gathers: outputs, changed state, how far it has read. A commit makes all of it true at once, for all
 * tasks of the worker, in five steps:
 *
 * | step | afterwards | a crash here |
 * |---|---|---|
 * | 1 `encoded` | every changed key is encoded, once, for changelog and state | leaves nothing |
 * | 2 `produced` | outputs and changelog records are in Kafka, in an open transaction: no reader sees them | the broker aborts the transaction: leaves nothing |
 * | 3 `offsets-added` | the offsets of what was read are part of the transaction too | as after 2 |
 * | 4 `committed` | the transaction is committed: readers see everything | state on disk is one commit behind; the tail of its changelog is replayed at the start |
 * | 5 `written` | state, changelog position and offsets are in RocksDB, in one batch | all is done |
 *
 * While the brokers are busy with steps 2 to 4, the worker processes the next records; they belong to the next commit, and are dropped
 * with this one if it fails. Only step 4 decides, and it is one atomic step of Kafka. Nothing uncommitted ever reaches RocksDB, so a crash never makes state
 * that would have to be thrown away.
 */
test.each([
  ['encoded', false],
  ['produced', false],
  ['offsets-added', false],
  ['committed', true],
  ['written', true],
] as const)('a crash after %s: readers see the payment: %s', (step, visible) => {
  const driver = testDriver(payments)
  driver.pipe(fares, 'ann', 300)
  expect(paid(driver)).toEqual([700])

  driver.crashAt(step)
  expect(() => driver.pipe(fares, 'ann', 200)).toThrow(DriverCrash)
  expect(paid(driver)).toEqual(visible ? [500] : [])

  // The process starts again and finds its place.
  driver.restart()
  driver.settle()
  expect(paid(driver)).toEqual(visible ? [] : [500])

  driver.pipe(fares, 'ann', 100)
  expect(paid(driver)).toEqual([400])
})

/*
 * ## What is exactly once?
 *
 * The *effect*: outputs, state and offsets. Your function may well run twice on one record; what the first run did has vanished.
 */
test('the function runs again, its effect does not', () => {
  const driver = testDriver(payments)
  const before = runs
  driver.crashAt('produced')
  expect(() => driver.pipe(fares, 'ann', 300)).toThrow(DriverCrash)
  driver.restart()
  driver.settle()

  expect(runs - before).toBe(2)
  expect(paid(driver)).toEqual([700])
})

/*
 * That is why processors talk to nobody but the engine. An e-mail sent from `payFare` would be sent twice. Emit a record instead, and let
 * somebody act on it who can recognise a repetition. The sinks, which copy topics into Redis and ClickHouse, do exactly that: they keep the
 * offset that they have applied in the target itself, in the same atomic step as the data.
 *
 * For the same reason processors should not ask for the time or for chance by themselves: `ctx.now` is the clock that a test can set.
 *
 * ## Any crash, any time
 *
 * Examples are chosen by people who know where they thought about crashes. A property test is not so kind: it makes up fares, crashes, lost
 * disks and commits in any order, and compares with a plain loop.
 */
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ pay: fc.integer({ min: 1, max: 100 }), rider: fc.constantFrom('ann', 'bob', 'eve') }) },
  { weight: 1, arbitrary: fc.record({ crashAt: fc.constantFrom('encoded', 'produced', 'offsets-added', 'committed', 'written') }) },
  { weight: 1, arbitrary: fc.record({ wipeState: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ commit: true }) },
)

test('whatever happens, every fare is paid once', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
      const driver = testDriver(payments, { commit: 'manual' })
      const expected = new Map<string, number>()

      for (const each of actions) {
        if ('pay' in each) {
          driver.pipe(fares, each.rider, each.pay)
          expected.set(each.rider, (expected.get(each.rider) ?? START_CENTS) - each.pay)
        } else if ('crashAt' in each) {
          driver.crashAt(each.crashAt)
          try {
            driver.settle()
          } catch (error) {
            if (!(error instanceof DriverCrash)) throw error
          }
          driver.restart()
        } else if ('wipeState' in each) {
          driver.run()
          driver.restart({ wipeState: each.wipeState })
        } else driver.settle()
      }
      driver.settle()

      const published = new Map(driver.read(balances).map(({ key, value }) => [key, value]))
      expect(published).toEqual(expected)
      expect(new Map(driver.store<KeyedStore<string, number>>('balances').scan())).toEqual(expected)
    }),
  )
})

/*
 * On the real broker the same is proven with real processes and `kill -9`: `tests/pipelines/engine/worker/crash.integration.test.ts`. There is one more
 * thing that only a real broker can show: a worker that was believed dead, and is not. Its successor has taken over its partitions;
 * Kafka refuses ("fences") everything that the old one still tries to commit, because transactions carry the worker's generation in
 * its group.
 *
 * ## What it costs
 *
 * Readers see a record when its transaction is committed: after 100 ms at most, or as soon as the input pauses. A topology may choose:
 * `topology(name, build, { commitIntervalMs: 0 })` commits after every poll (answers within milliseconds, more transactions); a second gathers
 * more per commit. Since each changed key is encoded once per commit, longer intervals also make the changelog shorter.
 *
 * Read next: chapter 8, dead letters. Sources: `pipelines/engine/worker/commit.ts`, `pipelines/engine/state/restore.ts`.
 */
