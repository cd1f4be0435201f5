import { expect, test } from 'vitest'
import { readChunks } from '../../../../kafka/record-batch/reader.ts'
import { DEAD_LETTER_HEADERS } from '../../../../pipelines/engine/task/dead-letter.ts'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import type { OnError } from '../../../../pipelines/engine/topology/api.ts'
import { deadLetter, drop, late } from '../../../../pipelines/engine/topology/outcome.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { type Codec, UnknownSchemaError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { batchOf, textRecord } from '../../../kafka/record-batch/batch-fixtures.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'

const MIB = 1_048_576
/** A topic that accepts larger records than the dead-letter topic. */
const numbers = { ...numberTopic('numbers', 1), config: { 'max.message.bytes': String(16 * MIB) } }
const lateNumbers = numberTopic('late-numbers', 1)
const doubled = numberTopic('doubled', 1)

/** Creates a topology that doubles numbers, rejects 13, drops 0, treats negative numbers as late, and throws at 99. */
function doubling(onError?: OnError, lateOutput = lateNumbers) {
  return topology('doubling', (t) => {
    t.source(numbers, { onError, lateOutput })
      .process('check', {}, function check(value) {
        if (value === 13) return deadLetter('unlucky', 'thirteen is not doubled')
        if (value === 0) return drop('zero')
        if (value < 0) return late
        if (value === 99) throw new Error('a bug')
      })
      .process('double', { emits: [doubled] }, (value, ctx) => ctx.emit(doubled, ctx.key ?? '', value * 2))
  })
}

const header = (record: { headers: readonly { key: string; value: Buffer | null }[] }, key: string) =>
  record.headers.find((each) => each.key === key)?.value?.toString()

test('the retention of a dead letter begins when it is written, regardless of the age of its record', () => {
  const now = Date.UTC(2026, 0, 1)
  const driver = testDriver(doubling(), { startAt: now })
  driver.pipe(numbers, 'a', 13, { timestamp: 1_000 })
  const [dead] = driver.readDeadLetters()
  expect([dead.timestamp, header(dead, DEAD_LETTER_HEADERS.timestamp)]).toEqual([now, '1000'])
})

test('a value that cannot be decoded becomes a dead letter with its original bytes, and processing continues', () => {
  const driver = testDriver(doubling())
  driver.pipe(numbers, 'a', 1, { timestamp: 1_000 })
  driver.pipeBytes(numbers, Buffer.from('k'), Buffer.from('no number'), {
    timestamp: 2_000,
    headers: [{ key: 'trace', value: Buffer.from('t1') }],
  })
  driver.pipe(numbers, 'b', 2)
  expect(driver.read(doubled).map(({ value }) => value)).toEqual([2, 4])
  const [dead, ...others] = driver.readDeadLetters()
  expect(others).toEqual([])
  expect([dead.key?.toString(), dead.value?.toString()]).toEqual(['k', 'no number'])
  const headers = Object.fromEntries(Object.entries(DEAD_LETTER_HEADERS).map(([name, key]) => [name, header(dead, key)]))
  expect(headers).toEqual({
    topic: 'numbers',
    partition: '0',
    offset: '1',
    timestamp: '2000',
    code: 'undecodable_value',
    message: 'no number is not a number',
    topology: 'doubling',
    processor: '',
    cut: undefined,
  })
  expect(header(dead, 'trace')).toBe('t1')
  expect(driver.metrics.deadLetters).toBe(1)
})

test.each([
  ['an undecodable key', Buffer.from([0xff]), Buffer.from('1'), 'undecodable_key'],
  ['no value', Buffer.from('k'), null, 'no_value'],
  ['no key', null, Buffer.from('1'), 'no_key'],
])('an unusable record (%s) becomes a dead letter', (_, key, value, code) => {
  const driver = testDriver(doubling())
  driver.pipeBytes(numbers, key, value)
  expect(driver.readDeadLetters().map((dead) => header(dead, DEAD_LETTER_HEADERS.code))).toEqual([code])
})

test.each([
  { what: 'its value', key: 1, value: 6 * MIB, headers: 1, cut: `value=${6 * MIB}` },
  { what: 'its key and its value', key: 5 * MIB, value: 6 * MIB, headers: 1, cut: `key=${5 * MIB} value=${6 * MIB}` },
  { what: 'its headers alone', key: 1, value: 1_000, headers: 5 * MIB, cut: expect.stringMatching(/^headers=5242\d{3}$/) },
])(
  'a record that is too large for the dead-letter topic because of $what is truncated, and a header says so',
  ({ key, value, headers, cut }) => {
    const driver = testDriver(doubling())
    driver.pipeBytes(numbers, Buffer.alloc(key, 'k'), Buffer.alloc(value, 'v'), {
      headers: [{ key: 'trace', value: Buffer.alloc(headers) }],
    })
    driver.pipe(numbers, 'b', 2)
    expect(driver.read(doubled).map((record) => record.value)).toEqual([4])
    const [dead] = driver.readDeadLetters()
    expect(header(dead, DEAD_LETTER_HEADERS.cut)).toEqual(cut)
    expect(header(dead, DEAD_LETTER_HEADERS.offset)).toBe('0')
    expect(dead.key).toEqual(Buffer.alloc(Math.min(key, MIB), 'k'))
    expect(dead.value?.every((byte) => byte === 'v'.charCodeAt(0))).toBe(true)
    expect(dead.value?.length).toBeGreaterThan(Math.min(value, MIB) - 1)
    expect(header(dead, 'trace')?.length).toBe(headers > MIB ? undefined : headers)
  },
)

test('a record without a key is processed if keys are optional', () => {
  const seen: [string | undefined, number][] = []
  const reading = topology('reading', (t) => {
    t.source(numbers, { keys: 'optional' }).process('p', {}, (value, ctx) => void seen.push([ctx.key, value]))
  })
  const driver = testDriver(reading)
  driver.pipe(numbers, undefined, 4)
  driver.pipe(numbers, 'k', 5)
  expect(seen).toEqual([
    [undefined, 4],
    ['k', 5],
  ])
})

test('once a record has an outcome, its processing ends: later processors get no rejected, dropped or late records', () => {
  const driver = testDriver(doubling())
  for (const value of [13, 0, -5, 7]) driver.pipe(numbers, 'k', value)
  expect(driver.read(doubled).map(({ value }) => value)).toEqual([14])
  const [dead] = driver.readDeadLetters()
  expect([header(dead, DEAD_LETTER_HEADERS.code), header(dead, DEAD_LETTER_HEADERS.processor)]).toEqual(['unlucky', 'check'])
  expect(driver.metrics.dropped).toEqual(new Map([['zero', 1]]))
  expect(driver.metrics.late).toBe(1)
  const [behind] = driver.read(lateNumbers)
  expect([behind.key, behind.value, header(behind, 'late.source')]).toEqual(['k', -5, 'numbers 0 2'])
})

test.each(['encoded', 'produced', 'offsets-added'] as const)(
  'a dead letter is invisible if its transaction is aborted, and the restarted worker sends it once: crash after "%s"',
  (step) => {
    const driver = testDriver(doubling(), { commit: 'manual' })
    driver.pipeBytes(numbers, Buffer.from('k'), Buffer.from('no number'))
    driver.pipe(numbers, 'k', 13)
    driver.pipe(numbers, 'k', 7)
    driver.crashAt(step)
    expect(() => driver.settle()).toThrow('crash')
    expect([driver.readDeadLetters(), driver.read(doubled)]).toEqual([[], []])
    driver.restart()
    driver.settle()
    expect(driver.readDeadLetters().map(({ key, value }) => [key?.toString(), value?.toString()])).toEqual([
      ['k', 'no number'],
      ['k', '13'],
    ])
    expect(driver.read(doubled).map(({ value }) => value)).toEqual([14])
  },
)

test('with the policy "fail", a bad record stops the worker, and the message names the position of the record', () => {
  const driver = testDriver(doubling({ reject: 'fail' }))
  driver.pipe(numbers, 'k', 1)
  expect(() => driver.pipe(numbers, 'k', 13)).toThrow(/doubling\/check failed at numbers-0 offset 1: the record was rejected \(unlucky/)
})

test('a bug in a processor stops the worker, and the message names the topology, the processor, the partition and the offset', () => {
  const driver = testDriver(doubling())
  expect(() => driver.pipe(numbers, 'k', 99)).toThrow('doubling/check failed at numbers-0 offset 0: a bug')
  expect(driver.read(doubled)).toEqual([])
})

test('a processor may emit only to the topics that it declares', () => {
  const sneaky = topology('sneaky', (t) => {
    t.source(numbers).process('p', {}, (value, ctx) => ctx.emit(doubled, 'k', value))
  })
  expect(() => testDriver(sneaky).pipe(numbers, 'k', 1)).toThrow('p emits to doubled: name that topic in its `emits`')
})

test('the source specifies whether tombstones are delivered or dropped', () => {
  const seen: (number | null)[] = []
  const delivering = topology('delivering', (t) => {
    t.source(numbers, { tombstones: 'deliver' }).process('p', {}, (value) => void seen.push(value))
  })
  const first = testDriver(delivering)
  first.pipe(numbers, 'k', null)
  first.pipe(numbers, 'k', 3)
  expect(seen).toEqual([null, 3])

  const dropping = topology('dropping', (t) => {
    t.source(numbers, { tombstones: 'drop' }).process('p', {}, (value) => void seen.push(value))
  })
  const second = testDriver(dropping)
  second.pipe(numbers, 'k', null)
  expect(seen).toEqual([null, 3])
  expect(second.metrics.dropped).toEqual(new Map([['tombstone', 1]]))
})

test('a record whose schema is missing from the registry becomes a dead letter', () => {
  const codec: Codec<number> = {
    encode() {},
    decode() {
      throw new UnknownSchemaError(77)
    },
  }
  const strange = { ...numbers, name: 'strange', value: rawValue(codec) }
  const reading = topology('reading', (t) => {
    t.source(strange).process('p', {}, () => undefined)
  })
  const driver = testDriver(reading)
  driver.pipeBytes(strange, Buffer.from('k'), Buffer.from('1'))
  expect(driver.readDeadLetters().map((dead) => header(dead, DEAD_LETTER_HEADERS.message))).toEqual([
    'the schema registry has no Avro schema with id 77',
  ])
})

test('records of several sources of one task are processed in timestamp order', () => {
  const left = textTopic('left', 1)
  const right = textTopic('right', 1)
  const seen: string[] = []
  const merging = topology('merging', (t) => {
    const store = t.repartition('unused', { key: utf8, value: numberFormat, partitions: 1 })
    t.source(store).process('nothing', {}, () => undefined)
    const shared = { stores: [keyed()] }
    t.source(left).process('l', { ...shared, emits: [store] }, (value) => void seen.push(value))
    t.source(right).process('r', shared, (value) => void seen.push(value))
  })
  const driver = testDriver(merging, { commit: 'manual' })
  driver.pipe(left, 'k', 'l10', { timestamp: 10 })
  driver.pipe(left, 'k', 'l30', { timestamp: 30 })
  driver.pipe(right, 'k', 'r20', { timestamp: 20 })
  driver.pipe(right, 'k', 'r30', { timestamp: 30 })
  driver.pipe(left, 'k', 'l40', { timestamp: 40 })
  driver.settle()
  expect(seen).toEqual(['l10', 'r20', 'l30', 'r30', 'l40'])
})

function keyed() {
  return keyedStore('joined', { key: utf8, value: numberFormat })
}

test('a processor that emits endlessly stops the worker before its memory is exhausted', () => {
  const text = textTopic('texts', 1)
  const megabyte = 'x'.repeat(1_000_000)
  const endless = topology('endless', (t) => {
    t.source(numbers).process('flood', { emits: [text] }, (_, ctx) => {
      for (;;) ctx.emit(text, 'a', megabyte)
    })
  })
  expect(() => testDriver(endless).pipe(numbers, 'a', 1)).toThrow(
    'endless/flood failed at numbers-0 offset 0: it has emitted more than 256 MiB, which cannot be sent before it returns',
  )
})

/**
 * Returns the fetched records 0 to 3 of `numbers`. Records 1 and 2 are in a batch that is too large when decompressed.
 */
function fetchedBomb() {
  const number = (value: string) => ({ ...textRecord(value), key: Buffer.from('k') })
  const bomb = [{ ...number('1'), value: Buffer.alloc(65 * MIB) }, number('2')]
  const records = Buffer.concat([
    batchOf([number('4')]),
    batchOf(bomb, { baseOffset: 1, codec: 'zstd' }),
    batchOf([number('5')], { baseOffset: 3 }),
  ])
  const chunks = readChunks({
    topic: 'numbers',
    partition: 0,
    records,
    from: 0,
    aborted: [],
    verifyChecksums: true,
    unreadableBatches: 'stand-in',
  })
  return { topic: 'numbers', partition: 0, chunks, nextOffset: 4, highWatermark: 4, lastStableOffset: 4, fetchedAt: 0 }
}

test('a batch that is too large when decompressed becomes one dead letter, which is marked as truncated', () => {
  const driver = testDriver(doubling(), { commit: 'manual' })
  const [task] = driver.tasks
  task.accept(fetchedBomb())
  expect(task.run(() => false)).toBe('idle')
  expect(task.position('numbers')).toBe(4)
  driver.commit()
  expect(driver.read(doubled).map(({ value }) => value)).toEqual([8, 10])
  const [dead, ...others] = driver.readDeadLetters()
  expect(others).toEqual([])
  expect([dead.key, dead.value]).toEqual([null, null])
  expect(header(dead, DEAD_LETTER_HEADERS.code)).toBe('unreadable_batch')
  expect(header(dead, DEAD_LETTER_HEADERS.offset)).toBe('1')
  expect(header(dead, DEAD_LETTER_HEADERS.message)).toContain('the record batch at offset 1 (to offset 2, 2 records in')
  expect(header(dead, DEAD_LETTER_HEADERS.cut)).toBe('batch')
})

test('with the policy "fail", a batch that is too large when decompressed stops the worker', () => {
  const driver = testDriver(doubling({ decode: 'fail' }), { commit: 'manual' })
  const [task] = driver.tasks
  task.accept(fetchedBomb())
  expect(() => task.run(() => false)).toThrow(/unreadable_batch: the record batch at offset 1/)
})

test('even if the stored values for a batch from two sources exceed the cache, each of them is decoded only once', () => {
  let decoded = 0
  const counted: typeof numberFormat = {
    ...numberFormat,
    open: (...args) => {
      const codec = numberFormat.open(...args)
      return {
        ...codec,
        decode(buffer, start, end) {
          decoded++
          return codec.decode(buffer, start, end)
        },
      }
    },
  }
  const others = numberTopic('other-numbers', 1)
  const summing = topology('summing', (t) => {
    const sums = keyedStore<string, number>('sums', { key: utf8, value: counted, cacheBytes: 1 })
    for (const [name, topic] of Object.entries({ numbers, others }))
      t.source(topic).process(name, { reads: (_, key) => sums.prefetch(key ?? ''), stores: [sums] }, (value, ctx) => {
        const key = ctx.key ?? ''
        sums.put(key, (sums.get(key) ?? 0) + value)
      })
  })
  const driver = testDriver(summing, { commit: 'manual' })
  const pipeAll = (timestamp: number) => {
    for (let i = 0; i < 500; i++) driver.pipe(i % 2 === 0 ? numbers : others, `key ${i}`, 1, { timestamp: timestamp + i })
  }
  pipeAll(1_000)
  driver.settle()
  driver.restart()
  pipeAll(10_000)
  decoded = 0
  driver.settle()
  expect(decoded).toBe(500)
})

test('a task checks its time limit after each record of 100,000 bytes, but not after each small record', () => {
  let seen = 0
  const text = textTopic('text')
  const counting = topology('counting', (t) => {
    t.source(text).process('count', {}, () => {
      seen++
    })
  })
  const driver = testDriver(counting, { commit: 'manual' })
  for (const size of [100_000, 100_000, 1, 1]) driver.pipe(text, 'k', 'x'.repeat(size))
  const [task] = driver.tasks
  task.accept(driver.broker.fetch(text.name, 0, 0, Number.MAX_SAFE_INTEGER))
  expect(task.run(() => true)).toBe('more')
  expect(seen).toBe(1)
  expect(task.run(() => true)).toBe('more')
  expect(seen).toBe(2)
  expect(task.run(() => true)).toBe('idle')
  expect(seen).toBe(4)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('a processor cannot increase a counter by %s', (by) => {
  const counting = topology('counting', (t) => {
    t.source(numbers).process('count', {}, (_value, ctx) => ctx.count('numbers_seen', by))
  })
  const driver = testDriver(counting)
  expect(() => driver.pipe(numbers, 'k', 1)).toThrow(`it increases the counter numbers_seen by ${by}`)
  expect(driver.metrics.counts.get('numbers_seen')).toBeUndefined()
})
