import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { type RestoreBuffer, restoreBuffer } from '../../../../pipelines/engine/state/restore-buffer.ts'
import type { Changelog } from '../../../../pipelines/engine/task/task-place.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateSession } from '../../../../state/stores/store.ts'

const ROOMY_BYTES = 1_000_000
/** Generates key numbers from a range that is either very small or so large that hardly any key repeats. */
const keyNumber = fc.oneof(fc.nat(3), fc.nat(1_000_000))
const record = fc.record({ partition: fc.nat(1), key: keyNumber, value: fc.option(fc.string({ maxLength: 3 })) })

function changelogOf(partition: number): Changelog {
  return {
    store: 'totals',
    topic: 'log',
    partition,
    positionName: `log-${partition}`,
    identityName: `id-${partition}`,
    epochName: `e-${partition}`,
  }
}

const changelog = changelogOf(0)

function logs() {
  const broker = memoryBroker()
  broker.createTopic({ name: 'log', partitions: 2 })
  return {
    append(key: string, value: string | null, partition = 0) {
      broker.append('log', partition, {
        timestamp: 0,
        key: Buffer.from(key),
        value: value === null ? null : Buffer.from(value),
        headers: [],
      })
    },
    endOf: (partition: number) => broker.log('log', partition).endOffset,
    fetch: (partition: number, from: number, records = Number.MAX_SAFE_INTEGER) => broker.fetch('log', partition, from, records),
  }
}

function rowsOf(session: StateSession, partition = 0): Map<string, string> {
  return new Map([...session.column('totals', partition).scan({})].map(([key, value]) => [String(key), String(value)]))
}

/** Adds the records of both partitions to the buffer, alternating between the partitions. */
function restoreAll(buffer: RestoreBuffer, log: ReturnType<typeof logs>, perFetch: number, afterEach: () => void): void {
  const positions = [0, 0]
  while (positions.some((position, partition) => position < log.endOf(partition))) {
    for (const partition of [0, 1]) {
      const data = log.fetch(partition, positions[partition], perFetch)
      buffer.add(changelogOf(partition), data)
      positions[partition] = data.nextOffset
      afterEach()
    }
  }
}

test('for buffers and fetches of any size, the state at each position is the same as after applying its records in order', () => {
  fc.assert(
    fc.property(
      fc.array(record, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(1, 100, 1_000, ROOMY_BYTES),
      (records, perFetch, maxBytes) => {
        const log = logs()
        for (const { partition, key, value } of records) log.append(`k${key}`, value, partition)
        const session = memoryBackend().session('t')
        const buffer = restoreBuffer(session, maxBytes)
        const expectedAt = (partition: number, position: number) => {
          const expected = new Map<string, string>()
          for (const { key, value } of records.filter((one) => one.partition === partition).slice(0, position)) {
            if (value === null) expected.delete(`k${key}`)
            else expected.set(`k${key}`, value)
          }
          return expected
        }
        const checkAll = () => {
          for (const partition of [0, 1])
            expect(rowsOf(session, partition)).toEqual(expectedAt(partition, session.position(`log-${partition}`) ?? 0))
        }
        restoreAll(buffer, log, perFetch, checkAll)
        for (const partition of [0, 1]) buffer.write(changelogOf(partition))
        expect([0, 1].map((partition) => session.position(`log-${partition}`) ?? 0)).toEqual([log.endOf(0), log.endOf(1)])
        checkAll()
      },
    ),
  )
})

test('rows are written in the order of their keys, each key once', () => {
  const log = logs()
  for (const key of ['c', 'a', 'd', 'b', 'a']) log.append(key, `${key}${log.endOf(0)}`)
  const session = memoryBackend().session('t')
  const column = session.column('totals', 0)
  const written: string[] = []
  const recording: StateSession = {
    ...session,
    column: () => ({
      ...column,
      put(key, start, end, value, ...rest) {
        written.push(Buffer.from(key).toString('utf8', start, end))
        column.put(key, start, end, value, ...rest)
      },
    }),
  }
  const buffer = restoreBuffer(recording)
  buffer.add(changelog, log.fetch(0, 0))
  expect(written).toEqual([])
  buffer.write(changelog)
  expect(written).toEqual(['a', 'b', 'c', 'd'])
  expect(rowsOf(session).get('a')).toBe('a4')
})

test('after 100,000 records in the order of their keys, records are written immediately, until a record is out of order', () => {
  const log = logs()
  const keyOf = (i: number) => `k${String(i).padStart(6, '0')}`
  const inOrder = 100_500
  for (let i = 0; i < inOrder; i++) log.append(keyOf(i), 'x')
  log.append(keyOf(3), 'y')
  log.append(keyOf(inOrder), 'x')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session)
  const positionAfter = (from: number, records: number) => {
    buffer.add(changelog, log.fetch(0, from, records))
    return session.position(changelog.positionName)
  }
  expect(positionAfter(0, 100_000)).toBeUndefined()
  expect(positionAfter(100_000, 499)).toBe(100_499)
  expect(positionAfter(100_499, 1)).toBe(inOrder)
  expect(positionAfter(inOrder, 1)).toBe(inOrder)
  expect(positionAfter(inOrder + 1, 1)).toBe(inOrder)
  buffer.write(changelog)
  expect(session.position(changelog.positionName)).toBe(inOrder + 2)
  expect([rowsOf(session).size, rowsOf(session).get(keyOf(3))]).toEqual([inOrder + 1, 'y'])
})

test('the rows of a changelog are written when they fill a batch of the session', () => {
  const log = logs()
  for (let i = 0; i < 20; i++) log.append(`k${i}`, 'x'.repeat(100))
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer({ ...session, batchBytes: 2_000 })
  buffer.add(changelog, log.fetch(0, 0, 10))
  expect(session.position(changelog.positionName)).toBeUndefined()
  buffer.add(changelog, log.fetch(0, 10, 10))
  expect([session.position(changelog.positionName), rowsOf(session).size]).toEqual([20, 20])
})

test('a full buffer writes the rows of the largest changelog only', () => {
  const log = logs()
  for (let i = 0; i < 5; i++) log.append(`long${i}`, 'x'.repeat(100), 1)
  log.append('short', 'x')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session, 500)
  buffer.add(changelogOf(0), log.fetch(0, 0))
  buffer.add(changelogOf(1), log.fetch(1, 0))
  expect([rowsOf(session, 0).size, rowsOf(session, 1).size]).toEqual([0, 5])
  expect([session.position('log-0'), session.position('log-1')]).toEqual([undefined, 5])
})

test('a changelog with few keys is written after a million records', () => {
  const log = logs()
  log.append('hot', 'x')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session)
  const one = log.fetch(0, 0)
  const many = (count: number) => ({ ...one, chunks: Array.from({ length: count }, () => one.chunks[0]), nextOffset: count })
  buffer.add(changelog, many(999_999))
  expect(session.position(changelog.positionName)).toBeUndefined()
  buffer.add(changelog, many(1))
  expect(session.position(changelog.positionName)).toBe(1)
})

test('if the last fetch of a log returns no records, for example only a transaction marker, its position is still written', () => {
  const log = logs()
  log.append('a', '1')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session)
  buffer.add(changelog, { ...log.fetch(0, 0), chunks: [], nextOffset: 2 })
  buffer.write(changelog)
  expect(session.position(changelog.positionName)).toBe(2)
})

test('dropped rows are not written, and the position does not move past the written rows', () => {
  const log = logs()
  log.append('a', '1')
  log.append('b', '2')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session)
  buffer.add(changelog, log.fetch(0, 0, 1))
  buffer.write(changelog)
  buffer.add(changelog, log.fetch(0, 1, 1))
  buffer.drop(changelog)
  buffer.write(changelog)
  expect(session.position(changelog.positionName)).toBe(1)
  expect([...rowsOf(session)]).toEqual([['a', '1']])
})

test('if the log was read from its beginning again, neither collected nor written rows of the old log remain', () => {
  const log = logs()
  for (const key of ['written', 'collected', 'new']) log.append(key, 'x')
  const session = memoryBackend().session('t')
  const buffer = restoreBuffer(session)
  buffer.add(changelog, log.fetch(0, 0, 1))
  buffer.write(changelog)
  buffer.add(changelog, log.fetch(0, 1, 1))
  buffer.add(changelog, { ...log.fetch(0, 2), wasReset: true })
  expect(rowsOf(session).size).toBe(0)
  expect(session.position(changelog.positionName)).toBeUndefined()
  buffer.write(changelog)
  expect([...rowsOf(session)]).toEqual([['new', 'x']])
})
