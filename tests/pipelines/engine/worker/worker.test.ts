import { expect, test } from 'vitest'
import { ReplacedError, TransportError } from '../../../../kafka/transport.ts'
import { DECIDING } from '../../../../pipelines/engine/commands/decide.ts'
import { rawValue } from '../../../../pipelines/engine/index.ts'
import { repartitionSpec } from '../../../../pipelines/engine/topology/internal-topics.ts'
import { type Topology, topology } from '../../../../pipelines/engine/topology/topology.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { PackedKeys } from '../../../../state/stores/store.ts'
import { bench, newIdentity, until } from '../harness.ts'
import { lines, numberFormat, wordCount, wordCounts } from '../words.ts'

test('a worker processes both stages and commits when the input pauses', async () => {
  const { worker, send, latest, broker } = bench()
  const words = await worker(wordCount())
  send(lines, 'ann', 'to be or not to be')
  send(lines, 'bob', 'be')
  await until(() => latest(wordCounts).get('be') === 3 && latest(wordCounts).get('to') === 2, 'be is counted 3 times and to twice')
  expect(Object.fromEntries(latest(wordCounts))).toEqual({ to: 2, be: 3, or: 1, not: 1 })
  expect(words.status().ready).toBe(true)
  await words.stop()
  await words.done
  expect(broker.groups.members('words')).toEqual([])
})

test('existing repartition topics keep their partition count, and changelogs are created with the same count', async () => {
  const { worker, send, latest, broker } = bench()
  broker.createTopic(repartitionSpec('words-by-word-repartition', 7))
  const words = await worker(wordCount())
  send(lines, 'ann', 'to be or not to be')
  await until(() => latest(wordCounts).get('be') === 2, 'both occurrences of "be" are counted')
  expect(words.status().tasks).toHaveLength(2 + 7)
  expect(broker.partitionCount('words-totals-changelog')).toBe(7)
})

test('a restarted worker continues with its state', async () => {
  const { worker, send, latest } = bench()
  const backend = memoryBackend()
  const first = await worker(wordCount(), { backend })
  send(lines, 'ann', 'to be')
  await until(() => latest(wordCounts).get('be') === 1, 'the first line')
  await first.stop()
  send(lines, 'ann', 'or not to be')
  await worker(wordCount(), { backend })
  await until(() => latest(wordCounts).get('be') === 2, 'the second line')
  expect(Object.fromEntries(latest(wordCounts))).toEqual({ to: 2, be: 2, or: 1, not: 1 })
})

test('two workers share the partitions, and one takes over when the other stops', async () => {
  const { worker, send, latest, broker } = bench()
  const a = await worker(wordCount())
  await until(() => a.status().ready, 'a runs')
  for (let i = 0; i < 50; i++) send(lines, `author-${i}`, `w${i % 7} all`)
  const b = await worker(wordCount())
  await until(() => b.status().tasks.length > 0 && b.status().ready, 'b has tasks')
  for (let i = 0; i < 50; i++) send(lines, `author-${i}`, `w${i % 7} all`)
  await until(() => latest(wordCounts).get('all') === 100, 'all lines are counted')
  const total = a.status().tasks.length + b.status().tasks.length
  expect(total).toBe(5)
  await a.stop()
  send(lines, 'zoe', 'all')
  await until(() => latest(wordCounts).get('all') === 101, 'b continues alone')
  expect(broker.groups.members('words')).toHaveLength(1)
})

test('work on revoked partitions is committed before another worker gets the partitions', async () => {
  const { worker, send, all } = bench()
  const done: string[] = []
  const echoing = topology(
    'echoing',
    (t) => {
      t.source(lines).process('echo', { emits: [wordCounts] }, (line, ctx) => {
        done.push(line)
        ctx.emit(wordCounts, line, 1)
      })
    },
    // With these options, a worker commits only when it has to give up a partition.
    { commitWhenIdle: false, commitIntervalMs: 3_600_000 },
  )
  const first = await worker(echoing)
  await until(() => first.status().ready, 'the worker runs')
  const sent = Array.from({ length: 20 }, (_, i) => `line ${i}`)
  for (const [i, line] of sent.entries()) send(lines, `author-${i}`, line)
  await until(() => done.length === sent.length, 'all records are processed')
  expect(all(wordCounts)).toEqual([])
  const second = await worker(echoing)
  await until(() => second.status().ready && second.status().tasks.length === 1, 'the other worker has a partition')
  expect(
    all(wordCounts)
      .map(({ key }) => key)
      .sort(),
  ).toEqual(sent.toSorted())
  await second.stop()
  expect(done.toSorted()).toEqual(sent.toSorted())
})

test('a worker whose session timed out drops its uncommitted work, rejoins and counts correctly', async () => {
  const { worker, send, latest, broker } = bench()
  const identity = newIdentity()
  const words = await worker(wordCount(), { identity })
  await until(() => words.status().ready, 'the worker runs')
  for (let i = 0; i < 200; i++) {
    send(lines, `author-${i % 5}`, 'one two')
    if (i % 50 === 10) broker.groups.expire('words', identity.memberId)
    if (i % 20 === 0) await new Promise(setImmediate)
  }
  await until(() => latest(wordCounts).get('two') === 200 && latest(wordCounts).get('one') === 200, 'all words are counted', 15_000)
  expect(words.status().fences).toBeGreaterThan(0)
})

test('when two processes share an identity, the newer process continues and the older process fails because it was replaced, without loss or duplicates', async () => {
  const { worker, send, all, broker } = bench()
  const identity = newIdentity()
  const older = await worker(wordCount(), { identity })
  for (let i = 0; i < 20; i++) send(lines, 'ann', 'a')
  await until(() => older.status().commits > 0, 'the older one works')
  const newer = await worker(wordCount(), { identity })
  for (let i = 0; i < 20; i++) {
    send(lines, 'ann', 'a')
    await new Promise(setImmediate)
  }
  await expect(older.done).rejects.toThrow(ReplacedError)
  expect(older.status()).toMatchObject({ state: 'failed', fences: 1 })
  send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length >= 41, 'all words are counted')
  expect(all(wordCounts).map(({ value }) => value)).toEqual(Array.from({ length: 41 }, (_, i) => i + 1))
  expect(newer.status()).toMatchObject({ state: 'running', ready: true, fences: 0 })
  expect(broker.groups.members('words')).toEqual([identity.memberId])
})

test('an older process that restarts its tasks for another reason does not replace the newer process', async () => {
  const { worker, send, all, broker } = bench()
  const identity = newIdentity()
  const older = await worker(wordCount(), { identity })
  await until(() => older.status().ready, 'the older one runs')
  const newer = await worker(wordCount(), { identity })
  await until(() => newer.status().ready, 'the newer one runs')
  const { promise: answer, reject: fail } = Promise.withResolvers<void>()
  broker.commitGate = answer
  send(lines, 'ann', 'a')
  await until(() => broker.waitingCommits === 2, 'both commits wait for the end of a transaction')
  broker.commitGate = undefined
  fail(new TransportError('TIMED_OUT', 'the brokers were unreachable', { fatal: false }))
  await expect(older.done).rejects.toThrow(ReplacedError)
  await until(() => all(wordCounts).length > 0, 'the word is counted')
  expect(all(wordCounts)).toHaveLength(1)
  expect(newer.status()).toMatchObject({ state: 'running', fences: 0 })
})

test('a worker commits early when so many keys have changed that encoding them would delay heartbeats', async () => {
  const { worker, broker } = bench()
  const keys = 70_000
  const remembering = topology(
    'remembering',
    (t) => {
      const seen = keyedStore('seen', { key: utf8, value: numberFormat })
      t.source(lines, { keys: 'optional' }).process('remember', { stores: [seen] }, (line) => seen.put(line, 1))
    },
    { commitIntervalMs: 60_000, commitWhenIdle: false },
  )
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  for (let i = 0; i < keys; i++) broker.append(lines.name, 0, { timestamp: 1, key: null, value: Buffer.from(`line-${i}`), headers: [] })
  const words = await worker(remembering)
  // The first commit is early because the size of the rows is still unknown. The second commit is early because so many
  // keys have changed.
  await until(() => words.status().commits > 1, 'two commits')
  expect(words.status().tasks.reduce((sum, task) => sum + task.dirtyKeys, 0)).toBeLessThan(keys)
})

/** Blocks for a moment, so that a processor cannot process all records in one round of the worker. */
function takeTime(): void {
  const end = performance.now() + 0.1
  while (performance.now() < end) {
    // Spins, so that the thread stays busy.
  }
}

/**
 * Creates a topology that slowly stores a row of `rowBytes` bytes for each line. Because its commit interval is long,
 * it commits only when it is idle or when the changed rows become too large.
 */
function rememberingSlowly(rowBytes: number): Topology {
  const value = 'x'.repeat(rowBytes)
  return topology(
    'remembering',
    (t) => {
      const seen = keyedStore('seen', { key: utf8, value: rawValue(utf8) })
      t.source(lines, { keys: 'optional' }).process('remember', { stores: [seen] }, (line) => {
        takeTime()
        seen.put(line, value)
      })
    },
    { commitIntervalMs: 60_000 },
  )
}

test('a worker commits early when the changed rows are large, so that its use of memory stays bounded', async () => {
  const { worker, broker } = bench()
  const [records, megabytes] = [2_400, 96]
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  const send = (line: string) => broker.append(lines.name, 0, { timestamp: 1, key: null, value: Buffer.from(line), headers: [] })
  const words = await worker(rememberingSlowly(40_000))
  send('first')
  await until(() => words.status().commits === 1, 'a commit shows how large rows are')
  for (let i = 0; i < records; i++) send(`line-${i}`)
  await until(() => broker.records('remembering-seen-changelog').length === records + 1, 'all rows are committed')
  expect(words.status().commits - 1).toBeGreaterThanOrEqual(Math.floor(megabytes / 34))
})

test('a worker commits when the changed rows fill a database batch, even before it has measured the size of a row', async () => {
  const { worker, broker } = bench()
  const [records, batchBytes] = [2_000, 1_000_000]
  const backend = memoryBackend()
  const small = { ...backend, session: (name: string) => ({ ...backend.session(name), batchBytes }) }
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  for (let i = 0; i < records; i++) broker.append(lines.name, 0, { timestamp: 1, key: null, value: Buffer.from(`line-${i}`), headers: [] })
  const words = await worker(rememberingSlowly(10_000), { backend: small })
  await until(() => broker.records('remembering-seen-changelog').length === records, 'all rows are committed')
  expect(words.status().commits).toBeGreaterThanOrEqual(4)
})

test('a worker prefetches fewer rows at a time if the rows are large, so that one read stays below 6 MiB', async () => {
  const { worker, broker } = bench()
  const keys = Array.from({ length: 2_000 }, (_, i) => `key-${i}`)
  const value = 'x'.repeat(20_000)
  const mib = 1_048_576
  const backend = memoryBackend()
  let read: number[] = []
  const counting = {
    ...backend,
    session(name: string) {
      const session = backend.session(name)
      return {
        ...session,
        column(store: string, partition: number) {
          const column = session.column(store, partition)
          return {
            ...column,
            multiGet(wanted: PackedKeys) {
              const found = column.multiGet(wanted)
              read.push(found.reduce((sum, row) => sum + (row?.length ?? 0), 0))
              return found
            },
          }
        },
      }
    },
  }
  const remembering = topology('remembering', (t) => {
    const seen = keyedStore('seen', { key: utf8, value: rawValue(utf8) })
    const node = { reads: (line: string) => seen.prefetch(line), stores: [seen] }
    t.source(lines, { keys: 'optional' }).process('remember', node, (line) => seen.put(line, seen.get(line) ?? value))
  })
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  const send = (line: string) => broker.append(lines.name, 0, { timestamp: 1, key: null, value: Buffer.from(line), headers: [] })
  const isDone = (records: number) => () => broker.records('remembering-seen-changelog').length === records
  const first = await worker(remembering, { backend: counting })
  for (const key of keys) send(key)
  await until(isDone(keys.length), 'all rows are written')
  await first.stop()
  read = []
  for (const key of keys) send(key)
  await worker(remembering, { backend: counting })
  await until(isDone(2 * keys.length), 'all rows are read and written again')
  expect(read.reduce((sum, bytes) => sum + bytes, 0)).toBe(keys.length * value.length)
  expect(Math.max(...read)).toBeLessThan(6 * mib)
  expect(read.length).toBeLessThan(40)
})

test('under the commit policy for decisions, a single record is committed immediately, and records that arrive right after a commit wait for the next commit', async () => {
  const { worker, send, broker } = bench()
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  let now = 1_000_000
  const counting = topology(
    'counting',
    (t) => {
      const seen = keyedStore('seen', { key: utf8, value: numberFormat })
      t.source(lines).process('remember', { stores: [seen] }, (line) => seen.put(line, 1))
    },
    DECIDING,
  )
  const decider = await worker(counting, { runtime: { ...systemRuntime(), now: () => now } })
  await until(() => decider.status().ready, 'the worker runs')
  now += 60_000
  const before = decider.status().commits
  send(lines, 'ann', 'alone')
  await until(() => decider.status().commits > before, 'the record is committed without a delay')
  const { commits } = decider.status()
  send(lines, 'ann', 'one')
  send(lines, 'ann', 'two')
  await until(() => decider.status().metrics.processed === 3, 'both records are processed')
  expect(decider.status().commits).toBe(commits)
  now += DECIDING.commitIntervalMs as number
  await until(() => decider.status().commits > commits, 'the commit that both records share')
  expect(decider.status().tasks.reduce((sum, task) => sum + task.dirtyKeys, 0)).toBe(0)
})

test('a record that a caller is waiting for is committed sooner than other records', async () => {
  const { worker, send, broker } = bench()
  broker.createTopic({ name: lines.name, partitions: lines.partitions })
  let now = 1_000_000
  const counting = topology(
    'counting',
    (t) => {
      const seen = keyedStore('seen', { key: utf8, value: numberFormat })
      t.source(lines).process('remember', { stores: [seen] }, (line, ctx) => {
        seen.put(line, 1)
        if (line === 'urgent') ctx.commitSoon()
      })
    },
    { commitIntervalMs: 60_000, commitSoonMs: 10, commitWhenIdle: false },
  )
  const words = await worker(counting, { runtime: { ...systemRuntime(), now: () => now } })
  await until(() => words.status().ready, 'the worker runs')
  now += 60_000
  send(lines, 'ann', 'first')
  await until(() => words.status().commits > 0, 'the first commit')
  const { commits } = words.status()
  const process = async (line: string, count: number) => {
    send(lines, 'ann', line)
    await until(() => words.status().metrics.processed === count, `${line} is processed`)
  }
  await process('bulk', 2)
  now += 1_000
  await process('more', 3)
  expect(words.status().commits).toBe(commits)
  await process('urgent', 4)
  await until(() => words.status().commits === commits + 1, 'the commit of all')
  now += 1_000
  await process('bulk again', 5)
  expect(words.status().commits).toBe(commits + 1)
})

test('with at-least-once, records are processed without transactions', async () => {
  const { broker, worker, send, latest } = bench()
  await worker(wordCount(), { guarantee: 'at-least-once' })
  for (let i = 0; i < 20; i++) send(lines, `author-${i}`, 'a b')
  await until(() => latest(wordCounts).get('b') === 20 && latest(wordCounts).get('a') === 20, 'all words are counted')
  const offsets = broker.records('word-counts').map(({ offset, partition }) => `${partition} ${offset}`)
  expect(offsets).toContain('0 1')
})
