import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { type EpochQuery, partitionKey, type Transport } from '../../../../kafka/transport.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend, memoryDisk } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend, StateSession } from '../../../../state/stores/store.ts'
import { type Bench, bench, until } from '../harness.ts'
import { lines, wordCount, wordCounts } from '../words.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HALTED_POLL_MS = 5
const CHANGELOG = 'words-totals-changelog'

/**
 * Creates a backend that counts the rows written to the store `totals`.
 * @param batchBytes size of the batches of restores. Default: the batches of the memory backend, so that restores write
 *   the records of each fetch
 */
function counted(batchBytes?: number): { backend: StateBackend; rows: () => number } {
  const backend = memoryBackend()
  let rows = 0
  function counting(session: StateSession): StateSession {
    return {
      ...session,
      column(store, partition) {
        const column = session.column(store, partition)
        return {
          ...column,
          put(...row) {
            if (store === 'totals') rows++
            column.put(...row)
          },
        }
      },
    }
  }
  return {
    rows: () => rows,
    backend: {
      ...backend,
      session: (topology) => counting(backend.session(topology)),
      copySession(topology) {
        const session = counting(backend.copySession(topology))
        return { ...session, batchBytes: batchBytes ?? session.batchBytes }
      },
    },
  }
}

/**
 * Wraps a transport so that it records the byte limit of each poll.
 * @param asked receives the limits
 */
function pollsOf(transport: Transport, asked: (number | undefined)[]): Transport {
  return {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      return {
        ...fetcher,
        poll(timeoutMs, maxBytes) {
          asked.push(maxBytes)
          return fetcher.poll(timeoutMs, maxBytes)
        },
      }
    },
  }
}

/** Wraps a transport so that each poll returns a single record. While `halted` returns true, polls return nothing. */
function haltingTransport(transport: Transport, halted: () => boolean): Transport {
  return {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      return {
        ...fetcher,
        async poll(timeoutMs) {
          if (!halted()) return await fetcher.poll(timeoutMs, 1)
          await new Promise((resolve) => setTimeout(resolve, Math.min(timeoutMs, HALTED_POLL_MS)))
          return []
        },
      }
    },
  }
}

async function counting({ worker, send, latest }: Bench, backend: StateBackend, now = Date.now) {
  const words = await worker(wordCount(), { backend, runtime: { ...systemRuntime(), now } })
  let sent = 0
  async function count(): Promise<void> {
    send(lines, 'ann', 'a b c')
    sent++
    await until(() => latest(wordCounts).get('c') === sent, `line ${sent}`)
  }
  return { words, count, after: (lines: number) => (sent = lines) }
}

test('a restart reads no records that the state already contains', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend)
  for (let i = 0; i < 5; i++) await first.count()
  await first.words.stop()
  const before = rows()
  const second = await counting(at, backend)
  await until(() => second.words.status().ready, 'the worker runs')
  expect(rows()).toBe(before)
})

test('a restore collects records before it writes them only if the changelog is so long that even small rows would fill a batch', async () => {
  const [records, smallRowBytes] = [20, 16]
  const at = bench()
  const first = await at.worker(wordCount())
  for (let count = 1; count <= records; count++) {
    at.send(lines, 'ann', 'a')
    await until(() => at.latest(wordCounts).get('a') === count, `line ${count}`)
  }
  await first.stop()
  const offsets = Math.max(...[0, 1, 2].map((partition) => at.broker.log(CHANGELOG, partition).endOffset))
  const written = []
  for (const missingBytes of [0, 1]) {
    const { backend, rows } = counted(offsets * smallRowBytes + missingBytes)
    const transport = haltingTransport(memoryTransport(at.broker), () => false)
    const restored = await at.worker(wordCount(), { backend, transport })
    await until(() => restored.status().ready, 'the worker runs')
    await restored.stop()
    written.push(rows())
  }
  expect(written).toEqual([1, records])
})

test('a worker that returns reads only the records that other workers have written in the meantime', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend)
  for (let i = 0; i < 5; i++) await first.count()
  await first.words.stop()
  const other = await counting(at, memoryBackend())
  other.after(5)
  await other.count()
  await other.words.stop()
  const before = rows()
  const back = await counting(at, backend)
  back.after(6)
  await until(() => back.words.status().ready, 'the worker runs')
  expect(rows() - before).toBe(3)
  await back.count()
})

/**
 * Wraps a transport so that it answers like a broker whose changelogs have lost all records of the leader epoch in
 * which the state was written.
 * @param asked receives the queries for the ends of epochs
 */
function shortenedTransport(transport: Transport, asked: EpochQuery[]): Transport {
  return {
    ...transport,
    leaderEpoch: () => 3,
    async epochEnds(queries) {
      asked.push(...queries)
      return new Map(queries.map(({ topic, partition }) => [partitionKey(topic, partition), 0]))
    },
  }
}

test('state is restored from scratch if its changelog has lost records that the state contains', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const asked: EpochQuery[] = []
  const transport = shortenedTransport(memoryTransport(at.broker), asked)
  const first = await at.worker(wordCount(), { backend, transport })
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.latest(wordCounts).size === 6, 'all words are counted')
  await first.stop()
  expect(asked).toEqual([])
  const before = rows()
  const second = await at.worker(wordCount(), { backend, transport })
  await until(() => second.status().ready, 'the worker runs')
  expect(asked.map(({ topic, leaderEpoch }) => ({ topic, leaderEpoch }))).toContainEqual({ topic: CHANGELOG, leaderEpoch: 3 })
  expect(rows() - before).toBe(6)
})

const inDays = (days: number) => () => Date.now() + days * DAY_MS

async function isLoadedAnew(writing: (() => number) | undefined, reading: (() => number) | undefined): Promise<void> {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend, writing)
  for (let i = 0; i < 5; i++) await first.count()
  at.send(lines, 'ann', 'd e f')
  await until(() => ['d', 'e', 'f'].every((word) => at.latest(wordCounts).has(word)), 'words that come once')
  await first.words.stop()
  const other = await counting(at, memoryBackend())
  other.after(5)
  await other.count()
  await other.words.stop()
  const before = rows()
  const back = await counting(at, backend, reading)
  back.after(6)
  await until(() => back.words.status().ready, 'the worker runs')
  // Another worker has written three records. The restarted worker reads more than these, because it reads the whole
  // changelogs of their partitions. It does not read the partition to which the other worker wrote nothing.
  expect(rows() - before).toBe(5)
  await back.count()
}

test('state that is older than the retention of tombstones is restored from scratch if other workers have written since', () =>
  isLoadedAnew(undefined, inDays(2)))

test('state that was written while the clock was far ahead is restored from scratch if other workers have written since', () =>
  isLoadedAnew(inDays(2), undefined))

test('an interrupted restore does not make old state count as fresh, because it has not read the tombstones at the end of the changelog', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend)
  for (let i = 0; i < 5; i++) await first.count()
  at.send(lines, 'ann', 'd e f')
  await until(() => ['d', 'e', 'f'].every((word) => at.latest(wordCounts).has(word)), 'words that come once')
  await first.words.stop()
  const other = await counting(at, memoryBackend())
  other.after(5)
  await other.count()
  await other.words.stop()

  const before = rows()
  const inHours = (hours: number) => () => Date.now() + hours * HOUR_MS
  const half = await at.worker(wordCount(), {
    backend,
    transport: haltingTransport(memoryTransport(at.broker), () => rows() > before),
    runtime: { ...systemRuntime(), now: inHours(23) },
  })
  await until(() => rows() > before, 'the worker has begun to restore')
  await half.stop()
  expect(rows() - before).toBe(1)

  const again = await counting(at, backend, inHours(26))
  again.after(6)
  await until(() => again.words.status().ready, 'the worker runs')
  expect(rows() - before - 1).toBe(5)
  await again.count()
})

test('a changelog that loses its beginning during a restore is read again into an empty store', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await at.worker(wordCount(), { backend })
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.latest(wordCounts).size === 6, 'all words are counted')
  await first.stop()
  const other = await at.worker(wordCount())
  for (const total of [2, 3]) {
    at.send(lines, 'ann', 'a b c d e f')
    await until(() => [...at.latest(wordCounts).values()].every((count) => count === total), `${total} of each`)
  }
  await other.stop()

  const before = rows()
  let released = false
  const transport = haltingTransport(memoryTransport(at.broker), () => rows() > before && !released)
  const restoring = await at.worker(wordCount(), { backend, transport })
  await until(() => rows() > before, 'the worker has begun to restore')
  for (const partition of [0, 1, 2]) {
    const log = at.broker.log(CHANGELOG, partition)
    log.truncateBefore(log.endOffset)
  }
  released = true
  await until(() => restoring.status().ready, 'the worker runs')
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.all(wordCounts).length === 4 * 6, 'all words are counted again')
  expect([...at.latest(wordCounts).values()]).toEqual([1, 1, 1, 1, 1, 1])
})

test('a restore that was suspended for longer than brokers keep tombstones begins again', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await at.worker(wordCount(), { backend })
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.latest(wordCounts).size === 6, 'all words are counted')
  await first.stop()
  const other = await at.worker(wordCount())
  for (const total of [2, 3]) {
    at.send(lines, 'ann', 'a b c d e f')
    await until(() => [...at.latest(wordCounts).values()].every((count) => count === total), `${total} of each`)
  }
  await other.stop()

  const before = rows()
  let aheadMs = 0
  const transport = haltingTransport(memoryTransport(at.broker), () => rows() > before && aheadMs === 0)
  const later: Transport = {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      const poll: typeof fetcher.poll = async (...limits) =>
        (await fetcher.poll(...limits)).map((data) => ({ ...data, fetchedAt: data.fetchedAt + aheadMs }))
      return { ...fetcher, poll }
    },
  }
  const runtime = { ...systemRuntime(), now: () => Date.now() + aheadMs }
  const restoring = await at.worker(wordCount(), { backend, transport: later, runtime })
  await until(() => rows() > before, 'the worker has begun to restore')
  aheadMs = 25 * HOUR_MS
  await until(() => restoring.status().ready, 'the worker runs')
  // The restore writes one record before the suspension, and then all 18 records of the changelog.
  expect(rows() - before).toBe(1 + 18)
})

test('state that is old but current is used, even if the group offsets have expired', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend)
  for (let i = 0; i < 5; i++) await first.count()
  await first.words.stop()
  at.broker.groups.forgetOffsets('words')
  const before = rows()
  const back = await counting(at, backend, () => Date.now() + 8 * DAY_MS)
  back.after(5)
  await until(() => back.words.status().ready, 'the worker runs')
  expect(rows()).toBe(before)
  await back.count()
})

test('state beyond the end of its changelog counts as the state of another log, so it is restored from scratch', async () => {
  const { backend, rows } = counted()
  const first = await counting(bench(), backend)
  for (let i = 0; i < 5; i++) await first.count()
  await first.words.stop()
  // The worker uses its old folder with a broker that was set up again.
  const other = bench()
  const elsewhere = await counting(other, memoryBackend())
  await elsewhere.count()
  await elsewhere.words.stop()
  const before = rows()
  const moved = await counting(other, backend)
  moved.after(1)
  await until(() => moved.words.status().ready, 'the worker runs')
  expect(rows() - before).toBe(3)
  await moved.count()
})

test('a changelog that was deleted and filled again counts as another log, even if it is longer than the kept state', async () => {
  const at = bench()
  const { backend, rows } = counted()
  const first = await counting(at, backend)
  at.send(lines, 'ann', 'd e f')
  for (let i = 0; i < 2; i++) await first.count()
  await first.words.stop()
  at.broker.deleteTopic(CHANGELOG)
  const other = await at.worker(wordCount())
  for (let total = 1; total <= 10; total++) {
    at.send(lines, 'ann', 'a b c')
    await until(() => at.all(wordCounts).length === 3 + 3 * (2 + total), `line ${total} in the new changelog`)
  }
  await other.stop()

  const before = rows()
  const back = await at.worker(wordCount(), { backend })
  await until(() => back.status().ready, 'the worker runs')
  expect(rows() - before).toBe(3)
  at.send(lines, 'ann', 'd e f')
  await until(() => at.all(wordCounts).length === 3 + 3 * 12 + 3, 'the words that only the deleted log had')
  const counts = at.latest(wordCounts)
  expect(['d', 'e', 'f'].map((word) => counts.get(word))).toEqual([1, 1, 1])
})

test('a restoring worker is not ready, reports its progress, and processes other tasks in the meantime', async () => {
  const at = bench()
  const first = await counting(at, memoryBackend())
  at.send(lines, 'ann', 'words for every partition of the second stage')
  await first.count()
  await first.words.stop()
  // One poll does not return all of these records, so the restore takes several turns of the loop.
  for (let i = 0; i < 30_000; i++)
    at.broker.append(CHANGELOG, 0, { timestamp: 1, key: Buffer.from(`k${i}`), value: Buffer.from('1'), headers: [] })
  const asked: (number | undefined)[] = []
  const words = await at.worker(wordCount(), { backend: memoryBackend(), transport: pollsOf(memoryTransport(at.broker), asked) })
  let seen: ReturnType<typeof words.status> | undefined
  await until(() => {
    const status = words.status()
    if (status.restoring.some(({ remaining, records }) => remaining > 0 && records > 0)) seen ??= status
    return status.ready
  }, 'the worker runs')
  expect(seen?.ready).toBe(false)
  expect(seen?.tasks.some(({ state }) => state === 'RUNNING')).toBe(true)
  // Polls have a byte limit while a restore shares them with running tasks, and no limit at other times.
  expect(asked.filter((bytes) => bytes !== undefined).every((bytes) => bytes <= 524_288)).toBe(true)
  expect(asked.some((bytes) => bytes !== undefined)).toBe(true)
  expect(asked[0]).toBeUndefined()
  await until(() => asked.at(-1) === undefined, 'polls without a limit')
})

test('a restore waits while the database is overloaded, but running tasks do not wait', async () => {
  const at = bench()
  const first = await at.worker(wordCount())
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.all(wordCounts).length === 6, 'all words are counted')
  await first.stop()

  const backend = memoryBackend()
  let isOverloaded = true
  const copySession = (name: string) => ({ ...backend.copySession(name), isOverloaded: () => isOverloaded })
  const split: string[] = []
  const second = await at.worker(
    wordCount('words', undefined, {}, (line) => split.push(line)),
    { backend: { ...backend, copySession } },
  )
  at.send(lines, 'ann', 'a b')
  await until(() => split.length === 1, 'a task without state has processed a line')
  await until(() => second.status().restoring.length > 0, 'the tasks with state restore')
  expect(second.status().restoring.map(({ records }) => records)).toEqual(second.status().restoring.map(() => 0))
  at.send(lines, 'ann', 'c')
  await until(() => split.length === 2, 'the task without state processes another line')
  expect(second.status().restoring.map(({ records }) => records)).toEqual(second.status().restoring.map(() => 0))

  isOverloaded = false
  await until(() => second.status().ready, 'the state is restored')
  await until(() => at.all(wordCounts).length === 9, 'the new words are counted')
  expect(Object.fromEntries(at.latest(wordCounts))).toEqual({ a: 2, b: 2, c: 2, d: 1, e: 1, f: 1 })
})

test('when a restore ends, the stored state is marked as complete and contains the input positions, even if no record is processed afterwards', async () => {
  const at = bench()
  const first = await at.worker(wordCount())
  at.send(lines, 'ann', 'a b c d e f')
  await until(() => at.latest(wordCounts).size === 6, 'all words are counted')
  await first.stop()
  const disk = memoryDisk()
  let isHalted = true
  const transport = haltingTransport(memoryTransport(at.broker), () => isHalted)
  const restored = await at.worker(wordCount(), { backend: memoryBackend(disk), transport })
  await until(() => restored.status().tasks.some(({ state }) => state === 'RESTORING'), 'a restore has begun')
  isHalted = false
  await until(() => restored.status().ready, 'the worker runs')
  const stored = [...(disk.positions.get('words') ?? [])].map(([name]) => name)
  expect(stored.filter((name) => name.startsWith('written-at/')).length).toBe(3)
  expect(stored.filter((name) => name.startsWith('source/words-by-word')).length).toBe(3)
})
