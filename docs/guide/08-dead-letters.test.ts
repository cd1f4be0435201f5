/**
 * # 8. Dead letters
 *
 * Somebody installs a dock with broken firmware, and now the topic contains bytes that nobody can decode. A stream
 * engine has three choices: it can skip such records, and lose data silently; it can stop, so that one dock stops the
 * whole city; or it can set the records aside and continue. The third choice is the default. The engine copies such
 * records to the topology's *dead-letter topic*, byte for byte, together with the reason and with their original topic,
 * partition and offset. It does this in the same transaction as everything else.
 *
 * You need chapters 1 and 4.
 */

import { expect, test } from 'vitest'
import {
  avroValue,
  DEAD_LETTER_HEADERS,
  deadLetter,
  drop,
  type KeyedStore,
  keyedStore,
  type Topic,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const minutes = avroValue<number>('int')
/** Key: the bike. Value: the length of the ride in minutes. */
const rides: Topic<string, number> = { name: 'rides', key: utf8, value: minutes, partitions: 1 }
const fares: Topic<string, number> = { name: 'fares', key: utf8, value: minutes, partitions: 1 }

const DAY_MINUTES = 24 * 60
const HOUR_MS = 3_600_000

/*
 * A processor rejects a record with `deadLetter(code, message)`. The code is for programs (metrics, filters), so it
 * should never change. The message is for the person who investigates the dead letter: say what is wrong with the
 * record and how to fix it.
 */
const pricing = topology('pricing', (t) => {
  t.source(rides).process('price', { emits: [fares] }, function price(length, ctx) {
    if (length === 0) return drop('no-ride')
    if (length < 0) return deadLetter('negative_length', `the ride took ${length} minutes: check the dock's firmware`)
    if (ctx.timestamp > ctx.now + HOUR_MS) return deadLetter('in_the_future', "the record is from the future: set the dock's clock")
    if (length > DAY_MINUTES) throw new Error('a ride of more than a day was never meant to get here')
    ctx.emit(fares, ctx.key, 100 + 20 * length)
  })
})

/** Returns the headers of the dead letters since the last call, as text. */
function deadLetters(driver: TestDriver): Record<string, string>[] {
  return driver.readDeadLetters().map(({ headers }) => Object.fromEntries(headers.map(({ key, value }) => [key, String(value)])))
}

test('a record that cannot be decoded becomes a dead letter, and processing continues', () => {
  const driver = testDriver(pricing)
  driver.pipeBytes(rides, Buffer.from('bike-7'), Buffer.from('#!firmware error'))
  driver.pipe(rides, 'bike-7', 10)

  expect(driver.read(fares).map((record) => record.value)).toEqual([300])
  expect(driver.metrics.deadLetters).toBe(1)
})

/*
 * ## Contents of a dead letter
 *
 * Key and value are the original bytes. The record keeps its headers, and the engine adds these:
 */
test('a dead letter has the original bytes, their origin and the reason', () => {
  const driver = testDriver(pricing)
  const firmware = { key: 'firmware', value: Buffer.from('v0.9-beta') }
  driver.pipe(rides, 'bike-7', -3, { headers: [firmware] })

  const [letter] = driver.broker.records('pricing-dead-letters')
  const [original] = driver.broker.records('rides')
  expect([letter.key, letter.value]).toEqual([original.key, original.value])

  expect(deadLetters(driver)).toEqual([
    {
      firmware: 'v0.9-beta',
      [DEAD_LETTER_HEADERS.topic]: 'rides',
      [DEAD_LETTER_HEADERS.partition]: '0',
      [DEAD_LETTER_HEADERS.offset]: '0',
      [DEAD_LETTER_HEADERS.timestamp]: String(driver.now),
      [DEAD_LETTER_HEADERS.code]: 'negative_length',
      [DEAD_LETTER_HEADERS.message]: "the ride took -3 minutes: check the dock's firmware",
      [DEAD_LETTER_HEADERS.topology]: 'pricing',
      [DEAD_LETTER_HEADERS.processor]: 'price',
    },
  ])
})

/*
 * ## The engine's own codes
 *
 * | code | meaning |
 * |---|---|
 * | `unreadable_batch` | the compressed batch that contains the record cannot be decompressed; one dead letter stands for the whole batch |
 * | `undecodable_value`, `undecodable_key` | the bytes do not fit the schema or the codec |
 * | `unknown_schema` | the registry does not have the schema of the value (if the registry is unreachable, the record waits instead) |
 * | `no_key` | the record has no key, so its partition is arbitrary, and state that is kept by key would be spread over several tasks |
 * | `no_value` | the record has no value (a tombstone) |
 *
 * Options of the source determine whether the last two codes occur. With `keys: 'optional'`, the source accepts records
 * without a key (`ctx.key` may then be undefined, as its type says). With `tombstones: 'deliver'`, a tombstone reaches
 * the processors with the value null; use this for compacted topics. With `tombstones: 'drop'`, tombstones are ignored.
 */
test('each kind of unusable record gets a code of its own', () => {
  const driver = testDriver(pricing)
  driver.pipeBytes(rides, Buffer.from('bike-7'), Buffer.from([0, 0, 0, 0, 99, 20])) // Avro with the unknown schema id 99
  driver.pipeBytes(rides, Buffer.from([0xff]), Buffer.from([1]))
  driver.pipe(rides, undefined, 10)
  driver.pipe(rides, 'bike-7', null)

  const codes = deadLetters(driver).map((headers) => headers[DEAD_LETTER_HEADERS.code])
  expect(codes).toEqual(['unknown_schema', 'undecodable_key', 'no_key', 'no_value'])
  expect(driver.read(fares)).toEqual([])
})

test('a source may accept tombstones and records without keys', () => {
  const cancellations: Topic<string, string> = { name: 'cancelled', key: utf8, value: avroValue<string>('string'), partitions: 1 }
  const seen: unknown[] = []
  const tolerant = topology('tolerant', (t) => {
    t.source(cancellations, { tombstones: 'deliver', keys: 'optional' }).process('see', {}, (value, ctx) => {
      seen.push([ctx.key, value])
    })
  })
  const driver = testDriver(tolerant)
  driver.pipe(cancellations, undefined, 'all')
  driver.pipe(cancellations, 'ride-1', null)

  expect(seen).toEqual([
    [undefined, 'all'],
    ['ride-1', null],
  ])
  expect(driver.metrics.deadLetters).toBe(0)
})

/*
 * ## Check first
 *
 * Everything that a processor puts or emits before it returns `deadLetter` takes effect. Therefore, check the record
 * before you put or emit anything. A rejected record does not move event time. Otherwise, a single record from a dock
 * whose clock is a year ahead would make every later correct record late.
 */
test('a rejected record does not move event time', () => {
  const driver = testDriver(pricing)
  driver.pipe(rides, 'bike-7', 5)
  const before = driver.tasks[0].streamTime
  driver.pipe(rides, 'bike-8', 5, { timestamp: driver.now + 365 * 24 * HOUR_MS })

  expect(deadLetters(driver)[0][DEAD_LETTER_HEADERS.code]).toBe('in_the_future')
  expect(driver.tasks[0].streamTime).toBe(before)
})

/*
 * ## Which outcome to use
 *
 * | outcome | for | effect |
 * |---|---|---|
 * | no return value | the normal case | the record is processed |
 * | `drop(reason)` | records that are valid but not wanted | counted by reason |
 * | `late` | records whose window is already closed | counted, copied to the source's `lateOutput` |
 * | `deadLetter(code, message)` | records that are wrong | set aside, counted |
 * | an exception | bugs | the worker stops with an error that names the record; nothing of the transaction remains |
 *
 * The last row is deliberate. If *your code* is wrong, the engine must not discard record after record unnoticed. Fix
 * the bug and restart: the worker continues with the record at which it stopped. The next section shows how to choose a
 * different behaviour.
 */
test('a bug stops the worker at the record, and nothing is lost', () => {
  const driver = testDriver(pricing)
  driver.pipe(rides, 'bike-7', 10)
  expect(() => driver.pipe(rides, 'bike-7', 2 * DAY_MINUTES)).toThrow(
    'pricing/price failed at rides-0 offset 1: a ride of more than a day was never meant to get here',
  )

  const mended = topology('pricing', (t) => {
    t.source(rides).process('price', { emits: [fares] }, (length, ctx) => ctx.emit(fares, ctx.key, 100 + 20 * length))
  })
  driver.restart({ topology: mended })
  driver.settle()
  expect(driver.read(fares).map((record) => record.value)).toEqual([300, 57_700])
})

/*
 * ## Choose per source
 *
 * While the worker is stopped, it prices no rides at all. If anybody may send rides, anybody can therefore stop your
 * service by sending a record that triggers a bug. The option `onError` of a source decides, for each stage in which a
 * record can fail, what happens to the record: `fail` stops the worker, `drop` skips and counts it, and `dead-letter`
 * skips it and sends it to the dead letters.
 *
 * | stage | the record | default |
 * |---|---|---|
 * | `decode` | cannot be decoded | `dead-letter` |
 * | `reject` | was rejected with `deadLetter()` | `dead-letter` |
 * | `process` | made a processor throw | `fail` |
 * | `produce` | has an output, or changes a row of a store, that cannot be encoded or is too large for its topic | `fail` |
 *
 * Before it throws, a processor may have changed state and emitted records. None of this remains: the worker discards
 * all work since the last commit, and repeats it without the failed record. The codes of such dead letters are
 * `process_failed` and `produce_failed`.
 */
test('with the policy `dead-letter`, a record leaves nothing but a dead letter if a processor throws or an output is too large', () => {
  const receipts: Topic<string, string> = { name: 'receipts', key: utf8, value: avroValue<string>('string'), partitions: 1 }
  const billing = topology('billing', (t) => {
    const due = keyedStore('due', { key: utf8, value: minutes })
    t.source(rides, { onError: { process: 'dead-letter', produce: 'dead-letter' } }).process(
      'bill',
      { stores: [due], emits: [fares, receipts] },
      function bill(length, ctx) {
        const total = (due.get(ctx.key) ?? 0) + length
        due.put(ctx.key, total)
        ctx.emit(fares, ctx.key, total)
        if (length > DAY_MINUTES) throw new Error('a ride of more than a day was never meant to get here')
        ctx.emit(receipts, ctx.key, 'a minute. '.repeat(length ** 2))
      },
    )
  })
  const driver = testDriver(billing)
  driver.pipe(rides, 'bike-7', 10)
  driver.pipe(rides, 'bike-7', 2 * DAY_MINUTES)
  driver.pipe(rides, 'bike-7', 1_000) // Its receipt would be 10 MB.
  driver.pipe(rides, 'bike-7', 5)

  expect(driver.read(fares).map((record) => record.value)).toEqual([10, 15])
  expect(driver.store<KeyedStore<string, number>>('due').get('bike-7')).toBe(15)
  const letters = deadLetters(driver)
  expect(letters.map((headers) => headers[DEAD_LETTER_HEADERS.code])).toEqual(['process_failed', 'produce_failed'])
  expect(letters[0][DEAD_LETTER_HEADERS.message]).toBe('a ride of more than a day was never meant to get here')
  expect(driver.metrics.skipped).toEqual([
    { source: 'rides', stage: 'process', handling: 'dead-letter', count: 1 },
    { source: 'rides', stage: 'produce', handling: 'dead-letter', count: 1 },
  ])
})

/*
 * Skipping a record after an exception takes a few tens of milliseconds, because the records since the last commit are
 * processed again. The metric `records_skipped_total` counts the skipped records. The log events `record_failed` (with
 * the stack trace) and `record_skipped` show some of them. Watch the metric: with these policies, a bug that affects
 * every record turns every record into a dead letter.
 *
 * A policy applies only if a single record caused the failure. No single record is the cause of failures in ticks,
 * `beforeCommit` and time handlers. Such failures stop the worker under every policy.
 *
 * If only your own topology writes to a topic, such as a repartition topic, an undecodable record in it is also a bug.
 * For such a source, choose `decode: 'fail'`.
 */
test('with the policy `fail`, a bad record stops the worker', () => {
  const strict = topology('strict', (t) => {
    t.source(rides, { onError: { decode: 'fail', reject: 'fail' } }).process('price', {}, () => {})
  })
  expect(() => testDriver(strict).pipeBytes(rides, Buffer.from('bike-7'), Buffer.from('#!'))).toThrow(
    /rides-0 offset 0: the record was rejected \(undecodable_value: .+\), and onError.decode of its source is "fail"/,
  )
})

/*
 * ## Inspecting and replaying dead letters
 *
 * Dead letters are kept for 30 days.
 *
 *     npm run dlq -- list                                       counts by topology and code
 *     npm run dlq -- show pricing --code negative_length        origin, reason, key, value, headers
 *     npm run dlq -- replay pricing --code negative_length      sends them to their source topics again
 *
 * Replay dead letters only after you have fixed the cause, because each of them is replayed only once. If a replayed
 * record fails again, it becomes a new dead letter, whose header `dead-letter.replays` counts the replays. Dead letters
 * that have been replayed, and new ones with this header, are replayed only with `--again`.
 *
 * Read next: chapter 9, schemas. Sources: `pipelines/engine/task/dead-letter.ts`,
 * `pipelines/engine/task/failed-records.ts`, `pipelines/engine/topology/outcome.ts`.
 */
