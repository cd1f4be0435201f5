/**
 * # 7. Exactly once
 *
 * Riders pay from a prepaid balance. Charging a ride twice annoys the customer, and not charging it loses money. Yet a
 * process may die at any moment. This chapter crashes a process after every step of a commit.
 *
 * You need chapters 1 to 3.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue, type KeyedStore, keyedStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { DriverCrash, type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const cents = avroValue<number>('int')

/** Key: the rider. Value: the amount to pay. */
const fares: Topic<string, number> = { name: 'fares', key: utf8, value: cents, partitions: 1 }
/** Key: the rider. Value: the balance after a payment. */
const balances: Topic<string, number> = { name: 'balances', key: utf8, value: cents, partitions: 1 }

const START_CENTS = 1_000

/** How often the processor has run, including runs before a restart. */
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
 * Between two commits, a task only collects its outputs, its changes of state and its new read positions. A commit
 * makes them permanent all at once, for all tasks of the worker, in five steps:
 *
 * | step | what is done after this step | after a crash here |
 * |---|---|---|
 * | 1 `encoded` | every changed key is encoded, once for both changelog and state | nothing of the commit remains |
 * | 2 `produced` | outputs and changelog records are in Kafka, in an open transaction: no `read_committed` reader sees them | nothing remains, because the broker aborts the transaction |
 * | 3 `offsets-added` | the source offsets are part of the transaction, too | as after step 2 |
 * | 4 `committed` | the transaction is committed: readers see everything | state on disk is one commit behind; the restarted process reads the missing changes from the changelog |
 * | 5 `written` | state, changelog position and offsets are in RocksDB, in one batch | nothing is missing |
 *
 * While the brokers handle steps 2 to 4, the worker processes the next records. These records belong to the next
 * commit, and their results are discarded if the current commit fails. Only step 4, which is atomic in Kafka, decides
 * whether the commit takes effect. Uncommitted changes never reach RocksDB, so a crash never leaves state that has to
 * be rolled back.
 */
test.each([
  ['encoded', false],
  ['produced', false],
  ['offsets-added', false],
  ['committed', true],
  ['written', true],
] as const)('after a crash at step %s, readers with read_committed see the payment: %s', (step, visible) => {
  const driver = testDriver(payments)
  driver.pipe(fares, 'ann', 300)
  expect(paid(driver)).toEqual([700])

  driver.crashAt(step)
  expect(() => driver.pipe(fares, 'ann', 200)).toThrow(DriverCrash)
  expect(paid(driver)).toEqual(visible ? [500] : [])

  // The process restarts and continues where it stopped.
  driver.restart()
  driver.settle()
  expect(paid(driver)).toEqual(visible ? [] : [500])

  driver.pipe(fares, 'ann', 100)
  expect(paid(driver)).toEqual([400])
})

/*
 * ## The meaning of exactly once
 *
 * What happens exactly once is the *effect*: outputs, state and offsets. Your function may run twice for one record,
 * but then the changes from the first run are discarded.
 */
test('after a crash, the function runs again, but its effect happens once', () => {
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
 * For this reason processors communicate only with the engine. If `payFare` sent an e-mail, it might send it twice.
 * Emit a record instead, and let a consumer that can recognise repeated records send the e-mail. The sinks that copy
 * topics into Redis and ClickHouse recognise repeated records by their offsets: together with the data, in one atomic
 * step, they store the offset up to which they have applied the topic.
 *
 * Processors should not read the system clock or generate random numbers either, because a second run could then have a
 * different result. If you need the wall clock, use `ctx.now`, which tests can set.
 *
 * ## Any crash at any time
 *
 * Hand-written examples cover only the crashes that their author has thought of. A property test does not have this
 * limit: it generates random sequences of fares, crashes, lost disks and commits, and compares the balances with those
 * that a plain loop computes.
 */
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ pay: fc.integer({ min: 1, max: 100 }), rider: fc.constantFrom('ann', 'bob', 'eve') }) },
  { weight: 1, arbitrary: fc.record({ crashAt: fc.constantFrom('encoded', 'produced', 'offsets-added', 'committed', 'written') }) },
  { weight: 1, arbitrary: fc.record({ wipeState: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ commit: true }) },
)

test('every fare is paid once, through any sequence of crashes', () => {
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
 * `tests/pipelines/engine/worker/crash.integration.test.ts` repeats such crashes on a real broker, with real processes
 * and `kill -9`. The driver cannot show one more case: a worker that was considered dead but is still running (a
 * zombie). Another worker has taken over its partitions, and Kafka rejects ("fences") everything that the zombie still
 * tries to commit, because each commit contains the worker's member id and epoch, and the group no longer accepts them.
 *
 * ## The price
 *
 * Exactly once costs latency, because readers see a record only when its transaction is committed. By default, a worker
 * commits after at most 100 ms, or as soon as the input pauses. A topology can choose a different interval.
 * `topology(name, build, { commitIntervalMs: 0 })` commits as often as the brokers permit: results appear within
 * milliseconds, but there are more transactions. With an interval of a second, each commit contains more changes.
 * Because each changed key is encoded only once per commit, longer intervals also make the changelog shorter.
 *
 * Read next: chapter 8, dead letters. Sources: `pipelines/engine/worker/commit.ts`,
 * `pipelines/engine/state/restore.ts`.
 */
