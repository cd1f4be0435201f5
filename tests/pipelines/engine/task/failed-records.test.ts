import fc from 'fast-check'
import { expect, test } from 'vitest'
import { failedRecords } from '../../../../pipelines/engine/task/failed-records.ts'
import { taskMetrics } from '../../../../pipelines/engine/task/metrics.ts'
import { RecordFailure } from '../../../../pipelines/engine/task/record-failure.ts'
import { DriverCrash, type TestDriver, testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import type { OnError, Outcome, SourceOptions, Stream } from '../../../../pipelines/engine/topology/api.ts'
import { deadLetter } from '../../../../pipelines/engine/topology/outcome.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import type { CommitFaultPoint } from '../../../../pipelines/engine/worker/commit.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { avroValue } from '../../../../schemas/avro/value.ts'
import { type Codec, CodecError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import { StateUnavailable } from '../../../../state/stores/errors.ts'
import { type KeyedStore, keyedStore } from '../../../../state/stores/keyed-store.ts'
import { packedStore } from '../../../../state/stores/packed-store.ts'
import { timerStore } from '../../../../state/stores/timer-store.ts'
import { topKStore } from '../../../../state/stores/top-k-store.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'

const HOUR_MS = 3_600_000
const orders = numberTopic('orders', 2)
const refunds = numberTopic('refunds', 2)
const totals = numberTopic('totals', 2)
const notes = textTopic('notes', 1)
/** A string that cannot be encoded in UTF-8. */
const LONE_SURROGATE = '\ud800'

/** Values on which the processor `add` fails after it has changed its state and emitted records. */
const BUG = 99
const TOO_LARGE = 98
const NOT_ENCODABLE = 97
/** Values on which the processor `add` fails before it changes anything. */
const REJECTED = 96
const UNREADABLE_KEY = 95
/** Values on which the processor `add` changes rows that the next commit cannot write. */
const ROW_TOO_LARGE = 94
const ROW_NOT_ENCODABLE = 93
const LIST_NOT_ENCODABLE = 92
const FIRST_FAILING = LIST_NOT_ENCODABLE
/** A text that exceeds the limit of a changelog, 4 MiB. */
const LARGE_TEXT = 'x'.repeat(4_200_000)

/**
 * Creates a topology that adds up numbers per key in a store, and over all records in a variable of the build function.
 * Each record also schedules a timer and changes a row in each of three other stores. The key's sum is then emitted.
 * @param sumFormat format of the sums in the store
 */
function adding(onError?: OnError, options: SourceOptions<string, number> = {}, sumFormat = numberFormat) {
  return topology('adding', (t) => {
    const sums = keyedStore('sums', { key: utf8, value: sumFormat })
    const timers = timerStore<string>('timers', { key: utf8 })
    const texts = keyedStore('texts', { key: utf8, value: notes.value })
    const packed = packedStore('packed', { key: utf8, value: notes.value })
    const best = topKStore('best', { group: utf8, list: avroValue<string[]>({ type: 'array', items: 'string' }), k: 2, id, compare })
    const stores = [sums, timers, texts, packed, best]
    let pending = 0

    function add(value: number, key: string, emit: (topic: typeof totals, key: string, value: number) => void): void {
      const sum = (sums.get(key) ?? 0) + value
      sums.put(key, sum)
      texts.put(`${key} ${value}`, value === ROW_NOT_ENCODABLE ? LONE_SURROGATE : 'text')
      packed.put(`${key} ${value}`, value === ROW_TOO_LARGE ? LARGE_TEXT : 'text')
      best.add(String(value), value === LIST_NOT_ENCODABLE ? LONE_SURROGATE : key)
      timers.schedule(`${key}-${value}`, HOUR_MS)
      pending += value
      emit(totals, key, sum)
    }

    t.source(orders, { ...options, onError })
      .process(
        'add',
        {
          reads(value, key) {
            if (value === UNREADABLE_KEY) throw new Error('no key to read')
            sums.prefetch(key)
          },
          stores,
          emits: [totals, notes],
        },
        function addOrder(value, ctx): Outcome {
          if (value === REJECTED) return deadLetter('unwanted', 'nobody wants it')
          add(value, ctx.key, (topic, key, sum) => ctx.emit(topic, key, sum))
          if (value === BUG) throw new Error('a bug')
          if (value === TOO_LARGE) ctx.emit(notes, ctx.key, 'x'.repeat(1_100_000))
          if (value === NOT_ENCODABLE) ctx.emit(notes, LONE_SURROGATE, 'x')
        },
      )
      .beforeCommit('note', { emits: [notes] }, (ctx) => {
        if (pending !== 0) ctx.emit(notes, 'all', String(pending))
        pending = 0
      })
    t.source(refunds).process('refund', { stores, emits: [totals] }, (value, ctx) => {
      if (value === BUG) throw new Error('a bug')
      add(-value, ctx.key, (topic, key, sum) => ctx.emit(topic, key, sum))
    })
  })
}

function headersOf(driver: TestDriver): Record<string, string>[] {
  return driver
    .readDeadLetters()
    .map(({ headers }) => Object.fromEntries(headers.map(({ key, value }) => [key.replace('dead-letter.', ''), String(value)])))
}

const id = (item: string) => item
const compare = (a: string, b: string) => a.localeCompare(b)
const sumsOf = (driver: TestDriver) =>
  new Map([0, 1].flatMap((partition) => [...driver.store<KeyedStore<string, number>>('sums', partition).scan()]))
const values = <V>(driver: TestDriver, topic: Parameters<TestDriver['read']>[0]) => driver.read(topic).map(({ value }) => value as V)

const FAILURES = [
  { what: 'its processor throws', value: BUG, stage: 'process', code: 'process_failed', message: 'a bug' },
  { what: '`reads` throws', value: UNREADABLE_KEY, stage: 'process', code: 'process_failed', message: 'no key to read' },
  {
    what: 'an output is too large',
    value: TOO_LARGE,
    stage: 'produce',
    code: 'produce_failed',
    message: /its output to notes failed: topic notes accepts batches of up to 1048588 bytes, but this record needs 11\d+$/,
  },
  {
    what: 'an output cannot be encoded',
    value: NOT_ENCODABLE,
    stage: 'produce',
    code: 'produce_failed',
    message: 'its output to notes failed: text has a lone surrogate, which UTF-8 cannot represent',
  },
  {
    what: 'a row that it changes is too large',
    value: ROW_TOO_LARGE,
    stage: 'produce',
    code: 'produce_failed',
    message:
      /a row of the store packed cannot be written: topic adding-packed-changelog accepts batches of up to 4194304 bytes, but this record needs 42\d+: split the value/,
  },
  {
    what: 'a row that it changes cannot be encoded',
    value: ROW_NOT_ENCODABLE,
    stage: 'produce',
    code: 'produce_failed',
    message: 'a row of the store texts cannot be written: text has a lone surrogate, which UTF-8 cannot represent',
  },
  {
    what: 'a list that it changes cannot be encoded',
    value: LIST_NOT_ENCODABLE,
    stage: 'produce',
    code: 'produce_failed',
    message: /a row of the store best cannot be written: array\[0]: the string has a lone surrogate/,
  },
] as const

test.each(FAILURES)(
  'if $what, the worker stops by default and names the topic, partition and offset of the record',
  ({ value, message }) => {
    const driver = testDriver(adding())
    driver.pipe(orders, 'a', 1, { partition: 1 })
    const fail = () => driver.pipe(orders, 'a', value, { partition: 1 })
    expect(fail).toThrow(/^adding\/add failed at orders-1 offset 1: /)
    expect(fail).toThrow(message)
  },
)

test.each(FAILURES.flatMap((failure) => (['drop', 'dead-letter'] as const).map((handling) => ({ ...failure, handling }))))(
  'policy $handling: if $what, nothing of the record remains, and all other records are processed once',
  (failure) => {
    const { value, stage, code, message, handling } = failure
    const driver = testDriver(adding({ [stage]: handling }), { commit: 'manual' })
    driver.pipe(orders, 'a', 1, { partition: 0 })
    driver.pipe(orders, 'b', 2, { partition: 1 })
    driver.pipe(orders, 'a', value, { partition: 0, timestamp: driver.now + HOUR_MS })
    driver.pipe(orders, 'a', 4, { partition: 0 })
    driver.pipe(refunds, 'b', 8, { partition: 1 })
    driver.settle()

    expect(sumsOf(driver)).toEqual(
      new Map([
        ['a', 5],
        ['b', -6],
      ]),
    )
    expect(values(driver, totals).sort()).toEqual([-6, 1, 2, 5].sort())
    expect(values<string>(driver, notes).reduce((sum, note) => sum + Number(note), 0)).toBe(-1)
    expect(driver.tasks.map(({ streamTime }) => streamTime)).toEqual([driver.now, driver.now])
    const letters = headersOf(driver)
    expect(letters).toHaveLength(handling === 'drop' ? 0 : 1)
    for (const letter of letters) {
      expect(letter).toMatchObject({ topic: 'orders', partition: '0', offset: '1', code, topology: 'adding', processor: 'add' })
      expect(letter.message).toMatch(message)
    }
    expect(driver.metrics.skipped).toEqual([{ source: 'orders', stage, handling, count: 1 }])
    expect(driver.metrics.deadLetters).toBe(letters.length)
  },
)

test('several failing records in one commit are all skipped, even adjacent records and records in several partitions', () => {
  const driver = testDriver(adding({ process: 'dead-letter', produce: 'dead-letter' }), { commit: 'manual' })
  for (const partition of [0, 1])
    for (const value of [BUG, BUG, 1, TOO_LARGE, UNREADABLE_KEY, 2, NOT_ENCODABLE, 3, BUG])
      driver.pipe(orders, `k${partition}`, value, { partition })
  driver.settle()
  expect(sumsOf(driver)).toEqual(
    new Map([
      ['k0', 6],
      ['k1', 6],
    ]),
  )
  expect(values(driver, totals).sort()).toEqual([1, 1, 3, 3, 6, 6])
  const places = headersOf(driver).map(({ partition, offset }) => `${partition} ${offset}`)
  expect(places.sort()).toEqual([0, 1].flatMap((partition) => [0, 1, 3, 4, 6, 8].map((offset) => `${partition} ${offset}`)))
})

test('after a skipped record, a task commits its earlier work before it processes the next record, so it repeats this work only once', () => {
  let runs = 0
  const counting = topology('counting', (t) => {
    t.source(orders, { onError: { process: 'drop' } }).process('count', {}, (value) => {
      runs++
      if (value === BUG) throw new Error('a bug')
    })
  })
  const driver = testDriver(counting, { commit: 'manual' })
  for (let i = 0; i < 100; i++) driver.pipe(orders, 'a', 1, { partition: 0 })
  for (let i = 0; i < 10; i++) driver.pipe(orders, 'a', BUG, { partition: 0 })
  driver.settle()
  expect(runs).toBe(2 * 100 + 10)
})

test.each([
  ['decode', 'undecodable_value', (driver: TestDriver) => driver.pipeBytes(orders, Buffer.from('a'), Buffer.from('#!'))],
  ['reject', 'unwanted', (driver: TestDriver) => driver.pipe(orders, 'a', REJECTED)],
] as const)('records that fail in the stage %s are handled by the policy for this stage', (stage, code, pipe) => {
  const byDefault = testDriver(adding())
  pipe(byDefault)
  expect(headersOf(byDefault)).toMatchObject([{ code }])
  expect(byDefault.metrics.skipped).toEqual([{ source: 'orders', stage, handling: 'dead-letter', count: 1 }])

  const dropping = testDriver(adding({ [stage]: 'drop' }))
  pipe(dropping)
  dropping.pipe(orders, 'a', 1)
  expect([headersOf(dropping), values(dropping, totals)]).toEqual([[], [1]])
  expect(dropping.metrics.skipped).toEqual([{ source: 'orders', stage, handling: 'drop', count: 1 }])

  expect(() => pipe(testDriver(adding({ [stage]: 'fail' })))).toThrow(`the record was rejected (${code}: `)
})

test('a skipped record is counted once, although it is processed again when a later record fails', () => {
  const driver = testDriver(adding({ process: 'dead-letter' }), { commit: 'manual' })
  driver.pipeBytes(orders, Buffer.from('a'), Buffer.from('#!'), { partition: 0 })
  driver.pipe(orders, 'a', REJECTED, { partition: 0 })
  for (const value of [BUG, BUG]) driver.pipe(orders, 'a', value, { partition: 0 })
  driver.settle()
  expect(headersOf(driver).map(({ offset }) => offset)).toEqual(['0', '1', '2', '3'])
  expect(driver.metrics.deadLetters).toBe(4)
  const handling = 'dead-letter'
  expect(driver.metrics.skipped).toEqual([
    { source: 'orders', stage: 'decode', handling, count: 1 },
    { source: 'orders', stage: 'reject', handling, count: 1 },
    { source: 'orders', stage: 'process', handling, count: 2 },
  ])
})

test('whatever a decoder throws, the record counts as undecodable', () => {
  const codec: Codec<number> = {
    encode: utf8.encode as unknown as Codec<number>['encode'],
    decode(buffer, start, end) {
      return (JSON.parse(buffer.toString('utf8', start, end)) as { n: { m: number } }).n.m
    },
  }
  const nested = { ...orders, name: 'nested', value: rawValue(codec) }
  const reading = topology('reading', (t) => {
    t.source(nested).process('read', { emits: [totals] }, (value, ctx) => ctx.emit(totals, ctx.key, value))
  })
  const driver = testDriver(reading)
  for (const text of ['{', '{}', '{"n":{"m":5}}']) driver.pipeBytes(nested, Buffer.from('a'), Buffer.from(text))
  expect(headersOf(driver).map(({ code, offset }) => [code, offset])).toEqual([
    ['undecodable_value', '0'],
    ['undecodable_value', '1'],
  ])
  expect(values(driver, totals)).toEqual([5])
})

test('declaring an unknown stage or policy throws, and an undefined policy means the default', () => {
  const wrong = (onError: object) => () => adding(onError as OnError)
  expect(wrong({ proces: 'drop' })).toThrow('source orders: onError has no stage proces, only decode, reject, process, produce')
  expect(wrong({ process: 'skip' })).toThrow('onError.process is "skip", but must be one of fail, drop, dead-letter')
  expect(() => testDriver(adding({ process: undefined })).pipe(orders, 'a', BUG)).toThrow('a bug')
})

test('each source has its own policies', () => {
  const driver = testDriver(adding({ process: 'drop' }))
  driver.pipe(orders, 'a', BUG)
  expect(() => driver.pipe(refunds, 'a', BUG)).toThrow('adding/refund failed at refunds-')
})

test('if the store cannot encode a key, only the record that uses this key fails, and the other records in its slice do not', () => {
  const keyed = topology('keyed', (t) => {
    const sums = keyedStore('sums', { key: utf8, value: numberFormat })
    const keyOf = (value: number, key: string) => (value === BUG ? LONE_SURROGATE : key)
    t.source(orders, { onError: { process: 'dead-letter' } }).process(
      'add',
      { reads: (value, key) => sums.prefetch(keyOf(value, key)), stores: [sums], emits: [totals] },
      (value, ctx) => {
        const key = keyOf(value, ctx.key)
        const sum = (sums.get(key) ?? 0) + value
        sums.put(key, sum)
        ctx.emit(totals, ctx.key, sum)
      },
    )
  })
  const driver = testDriver(keyed, { commit: 'manual' })
  for (const value of [1, BUG, 2]) driver.pipe(orders, 'a', value)
  driver.settle()
  expect(values(driver, totals)).toEqual([1, 3])
  expect(headersOf(driver)).toMatchObject([{ offset: '1', code: 'process_failed' }])
})

test('a failure that no record has caused stops the worker, even if the policy for every stage is "drop"', () => {
  const all: OnError = { decode: 'drop', reject: 'drop', process: 'drop', produce: 'drop' }
  const huge = 'x'.repeat(1_100_000)
  const hooked = topology('hooked', (t) => {
    t.source(orders, { onError: all })
      .process('take', {}, () => {})
      .beforeCommit('send', { emits: [notes] }, (ctx) => ctx.emit(notes, 'a', huge))
  })
  expect(() => testDriver(hooked).pipe(orders, 'a', 1)).toThrow(
    /^hooked\/send failed: its output to notes failed: topic notes accepts batches of up to 1048588 bytes, but this record needs 11\d+$/,
  )

  const ticking = topology('ticking', (t) => {
    t.source(orders, { onError: all })
      .process('take', {}, () => {})
      .tick('send', { everyMs: 1_000, clock: 'event', emits: [notes] }, (_now, ctx) => ctx.emit(notes, 'a', huge))
  })
  const driver = testDriver(ticking)
  driver.pipe(orders, 'a', 1, { partition: 0 })
  expect(() => driver.pipe(orders, 'a', 1, { partition: 0, timestamp: driver.now + HOUR_MS })).toThrow(
    /^ticking\/send failed: its output to notes failed: topic notes accepts/,
  )

  const promising = topology('promising', (t) => {
    t.source(orders, { onError: all }).process('wait', {}, (async () => {}) as unknown as () => void)
  })
  expect(() => testDriver(promising).pipe(orders, 'a', 1)).toThrow('it returned a promise, but processors are synchronous')

  const empty = topology('empty', (t) => {
    t.source(orders, { onError: all }).process('answer', {}, (() => null) as unknown as () => void)
  })
  expect(() => testDriver(empty).pipe(orders, 'a', 1)).toThrow('it returned null: return nothing, drop(), deadLetter() or late')

  const unreadable = topology('unreadable', (t) => {
    const sums = keyedStore('sums', { key: utf8, value: numberFormat })
    t.source(orders, { onError: all }).process('add', { stores: [sums] }, () => {
      throw new Error('cannot add', { cause: new StateUnavailable('reading the state', new Error('the disk is gone')) })
    })
  })
  expect(() => testDriver(unreadable).pipe(orders, 'a', 1)).toThrow('unreadable/add failed at orders-')
})

test('a row that cannot be written stops the worker, even under the policy "drop", if a hook or a tick has changed it', () => {
  const nodes = {
    hook: (kept: KeyedStore<string, string>) => (stream: Stream<string, number>) =>
      stream.beforeCommit('keep', { stores: [kept] }, () => kept.put('a', LARGE_TEXT)),
    tick: (kept: KeyedStore<string, string>) => (stream: Stream<string, number>) =>
      stream.tick('keep', { everyMs: 1_000, clock: 'event', stores: [kept] }, () => kept.put('a', LARGE_TEXT)),
  }
  for (const [what, add] of Object.entries(nodes)) {
    const hoarding = topology('hoarding', (t) => {
      const kept = keyedStore('kept', { key: utf8, value: notes.value })
      const stream = t.source(orders, { onError: { process: 'drop', produce: 'drop' } }).process('take', { stores: [kept] }, () => {})
      add(kept)(stream)
    })
    const driver = testDriver(hoarding)
    const pipe = () => {
      driver.pipe(orders, 'a', 1, { partition: 0 })
      driver.pipe(orders, 'a', 1, { partition: 0, timestamp: driver.now + HOUR_MS })
    }
    expect(pipe, what).toThrow(
      /^hoarding: a row of the store kept cannot be written: topic hoarding-kept-changelog accepts batches of up to 4194304 bytes, but this record needs 42\d+: split the value/,
    )
    expect(driver.metrics.skipped, what).toEqual([])
  }
})

test('a row that cannot be written stops the worker if a tick between the records has changed it', () => {
  const hoarding = topology('hoarding', (t) => {
    const kept = keyedStore('kept', { key: utf8, value: notes.value })
    t.source(orders, { onError: { process: 'drop', produce: 'drop' } })
      .process('take', { stores: [kept] }, (_, ctx) => kept.put(ctx.key, 'taken'))
      .tick('keep', { everyMs: 1_000, clock: 'wall', stores: [kept] }, () => kept.put('a', LARGE_TEXT))
  })
  const driver = testDriver(hoarding, { commit: 'manual' })
  driver.pipe(orders, 'b', 1, { partition: 0 })
  driver.run()
  driver.advanceWallClock(1_000)
  expect(() => driver.settle()).toThrow(
    /^hoarding: a row of the store kept cannot be written: .*\. No record has caused this: look at .* ticks/,
  )
})

test('while rows are checked after each record, each changed row is still written to the changelog only once', () => {
  const driver = testDriver(adding({ produce: 'drop' }), { commit: 'manual' })
  for (const value of [ROW_NOT_ENCODABLE, 1, 2, 3]) driver.pipe(orders, 'a', value, { partition: 0 })
  driver.settle()
  expect(driver.read({ ...totals, name: 'adding-sums-changelog', partitions: 2 }).map(({ value }) => value)).toEqual([6])
})

test('after a row could not be encoded, the rows of the retried records are checked, but not the rows of later records', () => {
  let encoded = 0
  const sumFormat: typeof numberFormat = {
    ...numberFormat,
    open(...args) {
      const codec = numberFormat.open(...args)
      return {
        ...codec,
        encode(value, out) {
          encoded++
          codec.encode(value, out)
        },
      }
    },
  }
  const driver = testDriver(adding({ produce: 'drop' }, {}, sumFormat), { commit: 'manual' })
  for (const value of [1, ROW_NOT_ENCODABLE, 2, 3]) driver.pipe(orders, 'a', value, { partition: 0 })
  driver.settle()
  const encodedWithChecks = encoded
  // Checking encodes a row after each change of it, and each commit encodes it once more.
  expect(encodedWithChecks).toBeGreaterThan(4)
  for (const value of [4, 4, 4]) driver.pipe(orders, 'a', value, { partition: 0 })
  driver.settle()
  expect(encoded).toBe(encodedWithChecks + 1)
})

test.each(['encoded', 'produced', 'offsets-added', 'committed'] as const)(
  'after a crash during the commit that follows a failure, there is exactly one dead letter of the failed record: crash after "%s"',
  (step) => {
    const driver = testDriver(adding({ process: 'dead-letter' }), { commit: 'manual' })
    for (const value of [1, BUG, 2]) driver.pipe(orders, 'a', value)
    driver.crashAt(step)
    expect(() => driver.settle()).toThrow(DriverCrash)
    driver.restart()
    driver.settle()
    expect(headersOf(driver).map(({ offset }) => offset)).toEqual(['1'])
    expect(values(driver, totals)).toEqual([1, 3])
  },
)

test('another version of the topology retries a record that has failed, unless the record was skipped in a committed transaction', () => {
  const driver = testDriver(adding({ process: 'drop' }))
  driver.pipe(orders, 'a', BUG)
  driver.restart({ topology: adding() })
  driver.pipe(orders, 'a', 1)
  expect(values(driver, totals)).toEqual([1])

  const failed = testDriver(adding())
  expect(() => failed.pipe(orders, 'a', BUG)).toThrow('a bug')
  failed.restart({ topology: adding({ process: 'dead-letter' }) })
  failed.settle()
  expect(headersOf(failed)).toMatchObject([{ code: 'process_failed' }])
})

type Step = { readonly value: number; readonly key: string } | { readonly crash: CommitFaultPoint } | 'commit' | 'restart'
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ value: fc.integer({ min: 1, max: 5 }), key: fc.constantFrom('a', 'b', 'c') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      value: fc.constantFrom(BUG, TOO_LARGE, NOT_ENCODABLE, UNREADABLE_KEY, ROW_NOT_ENCODABLE, LIST_NOT_ENCODABLE),
      key: fc.constantFrom('a', 'b'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ crash: fc.constantFrom<CommitFaultPoint>('encoded', 'produced', 'offsets-added', 'committed', 'written') }),
  },
  { weight: 2, arbitrary: fc.constantFrom('commit', 'restart') },
)

test('for any order of good and failing records, commits and crashes, the output contains only the results of the good records', () => {
  function settle(driver: TestDriver): void {
    try {
      driver.settle()
    } catch (error) {
      if (!(error instanceof DriverCrash)) throw error
      driver.restart()
    }
  }
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const driver = testDriver(adding({ process: 'dead-letter', produce: 'dead-letter' }), { commit: 'manual' })
      const sums = new Map<string, number>()
      const expected: string[] = []
      let failing = 0
      for (const each of steps) {
        if (each === 'commit') settle(driver)
        else if (each === 'restart') {
          driver.run()
          driver.restart()
        } else if ('crash' in each) driver.crashAt(each.crash)
        else {
          driver.pipe(orders, each.key, each.value)
          if (each.value >= FIRST_FAILING) failing++
          else {
            const sum = (sums.get(each.key) ?? 0) + each.value
            sums.set(each.key, sum)
            expected.push(`${each.key} ${sum}`)
          }
        }
      }
      settle(driver)
      driver.settle()
      expect(sumsOf(driver)).toEqual(sums)
      expect(
        driver
          .read(totals)
          .map(({ key, value }) => `${key} ${value}`)
          .sort(),
      ).toEqual(expected.sort())
      const letters = headersOf(driver).map(({ partition, offset }) => `${partition} ${offset}`)
      expect([letters.length, new Set(letters).size]).toEqual([failing, failing])
      expect(values<string>(driver, notes).reduce((sum, note) => sum + Number(note), 0)).toBe([...sums.values()].reduce((a, b) => a + b, 0))
    }),
    { numRuns: 60 },
  )
})

test('the first failure and the first skipped record of a source are logged immediately, and later ones at most every 10 s, with the number of omitted lines', () => {
  const events: [string, Record<string, unknown>][] = []
  const record = (fields: object, event: string) => void events.push([event, fields as Record<string, unknown>])
  const runtime = manualRuntime({ log: { debug: record, info: record, warn: record, error: record } })
  const metrics = taskMetrics()
  const failed = failedRecords({ topology: 'adding', metrics, runtime })
  const cause = new CodecError('a bug')

  function fail(offset: number, topic = 'orders'): void {
    const place = { topic, partition: 0, offset }
    const fault = { stage: 'process', code: 'process_failed', message: 'a bug', processor: 'add' } as const
    failed.note(new RecordFailure('adding/add failed', place, fault, cause))
    // Each skipped record is reported twice, because the engine processes a record again when another record in its
    // batch fails.
    for (let i = 0; i < 2; i++) failed.skipped(place, fault, 'drop')
  }

  for (let i = 0; i < 5; i++) fail(i)
  fail(7, 'refunds')
  runtime.advance(10_000)
  fail(8)
  expect(events.map(([event, { topic, offset, unlogged }]) => [event, topic, offset, unlogged])).toEqual([
    ['record_failed', 'orders', 0, 0],
    ['record_skipped', 'orders', 0, 0],
    ['record_failed', 'refunds', 7, 0],
    ['record_skipped', 'refunds', 7, 0],
    ['record_failed', 'orders', 8, 4],
    ['record_skipped', 'orders', 8, 4],
  ])
  expect(events[0][1]).toMatchObject({ err: cause, topology: 'adding', processor: 'add', stage: 'process', partition: 0 })
  expect(events[1][1]).toMatchObject({ code: 'process_failed', handling: 'drop' })
  expect(metrics.skipped.map(({ source, count }) => [source, count])).toEqual([
    ['orders', 6],
    ['refunds', 1],
  ])
})
