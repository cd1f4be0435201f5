import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Fetcher, Transport } from '../../../../kafka/transport.ts'
import type { MemberIdentity } from '../../../../pipelines/engine/worker/worker-config.ts'
import type { Log } from '../../../../runtime/runtime.ts'
import { silentLog, systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../../state/stores/store.ts'
import { type Bench, bench, newIdentity, until } from '../harness.ts'
import { lines, numberFormat, wordCount, wordCounts } from '../words.ts'

const standing = wordCount('words', { lines, wordCounts }, { standby: 1 })
const totals = keyedStore('totals', { key: utf8, value: numberFormat })
/** Ids of the tasks that count words. */
const COUNTING = ['1_0', '1_1', '1_2']

/** Number of turns of a worker's loop within which copies normally complete. */
const TURNS = 50

/**
 * Creates a log that collects, in order, the names of its informational events and how many changelog records each
 * started task has restored.
 */
function startLog(): { log: Log; starts: { task: string; restored: number }[]; events: string[] } {
  const starts: { task: string; restored: number }[] = []
  const events: string[] = []
  const log: Log = {
    ...silentLog,
    info(fields, event) {
      events.push(event)
      const { task, restored_records: restored } = fields as { task: string; restored_records: number }
      if (event === 'task_running') starts.push({ task, restored })
    },
  }
  return { log, starts, events }
}

/**
 * Wraps a transport. The first fetcher belongs to the tasks, and reads no changelog until `release` is called. The
 * later fetchers belong to copies, and return nothing until `beginCopies` is called.
 */
function lateRestores(transport: Transport): { transport: Transport; release(): void; beginCopies(): void } {
  const waiting: (() => void)[] = []
  let isReleased = false
  let copiesBegin = false
  let isFirst = true
  function fetcher(options: Parameters<Transport['fetcher']>[0]): Fetcher {
    const inner = transport.fetcher(options)
    if (!isFirst) return { ...inner, poll: async (...args) => (copiesBegin ? await inner.poll(...args) : []) }
    isFirst = false
    return {
      ...inner,
      assign(...args) {
        if (isReleased || !args[0].topic.endsWith('-changelog')) inner.assign(...args)
        else waiting.push(() => inner.assign(...args))
      },
    }
  }
  return {
    transport: { ...transport, fetcher },
    release() {
      isReleased = true
      for (const assign of waiting) assign()
    },
    beginCopies() {
      copiesBegin = true
    },
  }
}

async function countedWords(at: Bench, rounds: number): Promise<void> {
  const before = at.all(wordCounts).length
  for (let i = 0; i < rounds; i++) at.send(lines, `author-${i}`, 'a b c d e f')
  await until(() => at.all(wordCounts).length === before + 6 * rounds, 'all words are counted')
}

test('a second worker keeps copies of the tasks of the first worker, and continues these tasks when the first worker is gone', async () => {
  const at = bench()
  const first = newIdentity()
  await at.worker(standing, { identity: first })
  const { log, starts } = startLog()
  const second = await at.worker(standing, { runtime: systemRuntime(log), address: 'http://two' })
  await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
  await countedWords(at, 20)
  const complete = () =>
    second.status().standbys.every(({ behind, completeAt }) => behind === 0 && completeAt !== undefined) &&
    new Set([...second.status().standbys, ...second.status().tasks].map((each) => ('task' in each ? each.task : each.id))).size >=
      COUNTING.length
  await until(() => second.status().standbys.length > 0 && complete(), 'the copies are complete')
  const copied = second.status().standbys.map(({ task }) => task)
  // `behind` is as old as the last fetch, so a copy that reports 0 may still lack the last counts.
  const lastCounts = async () => {
    const answers = await Promise.all([...'abcdef'].map((key) => second.queries!.get(totals, key, { standby: true })))
    return answers.every((answer) => answer.outcome === 'answered' && answer.value === 20)
  }
  await until(lastCounts, 'the copies contain the last counts')
  at.broker.groups.expire('words', first.memberId)
  at.broker.groups.takeEvent('words', first.memberId)
  await until(() => second.status().tasks.filter(({ state }) => state === 'RUNNING').length === 5, 'the second worker runs all tasks')
  const taken = starts.filter(({ task }) => copied.includes(task))
  expect(taken.map(({ task }) => task).sort()).toEqual(copied.sort())
  expect(taken.map(({ restored }) => restored)).toEqual(copied.map(() => 0))
  await countedWords(at, 1)
  expect(at.latest(wordCounts).get('a')).toBe(21)
})

test('a standby copy answers queries that permit standby copies, and reports its role and how far it is behind', async () => {
  const at = bench()
  const workers = [await at.worker(standing, { address: 'http://one' }), await at.worker(standing, { address: 'http://two' })]
  await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
  await countedWords(at, 5)
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const ask = async (standby: boolean) => Promise.all(workers.map((worker) => worker.queries!.get(totals, key, { standby })))
    await until(async () => {
      const answers = await ask(true)
      return answers.every((answer) => answer.outcome === 'answered' && answer.value === 5)
    }, `both have ${key}`)
    const roles = (await ask(true)).map((answer) => answer.outcome === 'answered' && [answer.state.role, answer.state.behind])
    expect(roles.sort()).toEqual([
      ['active', 0],
      ['standby', 0],
    ])
    // Workers cache the owners of partitions briefly, so a result may still name the owner from before the rebalance.
    await until(async () => (await ask(false)).some(({ outcome }) => outcome === 'other-worker'), `the owner of ${key} is known`)
    const outcomes = (await ask(false)).map(({ outcome }) => outcome)
    expect(outcomes.sort()).toEqual(['answered', 'other-worker'])
    const other = (await ask(false)).find((answer) => answer.outcome === 'other-worker')
    // The result lists no other standby, because the queried worker has the only copy.
    expect(other).toMatchObject({ address: expect.stringMatching(/^http:/), standbys: [] })
  }
})

test('a copy makes no progress while the database is overloaded', async () => {
  const at = bench()
  const first = await at.worker(standing)
  await countedWords(at, 5)
  const backend = memoryBackend()
  let isOverloaded = false
  const copySession = (name: string) => ({ ...backend.copySession(name), isOverloaded: () => isOverloaded })
  const second = await at.worker(standing, { backend: { ...backend, copySession } })
  const copies = () => second.status().standbys
  const areCompleteAfter = (ms: number) =>
    copies().length > 0 && copies().every(({ behind, completeAt }) => behind === 0 && (completeAt ?? 0) > ms)
  // A worker without tasks also counts as ready. The test waits until both workers have tasks, because tasks that move
  // to the second worker while its database is overloaded would not be restored.
  const haveTasks = () => [first, second].every((worker) => worker.status().ready && worker.status().tasks.length > 1)
  await until(() => haveTasks() && areCompleteAfter(0), 'both workers run tasks, and the copies are complete')
  isOverloaded = true
  const before = copies()
  await countedWords(at, 5)
  expect(copies()).toEqual(before)
  isOverloaded = false
  const latest = Math.max(...before.map(({ completeAt }) => completeAt as number))
  await until(() => areCompleteAfter(latest), 'the copies are complete again')
})

test('copies make no progress while tasks restore', async () => {
  const at = bench()
  await at.worker(standing)
  await countedWords(at, 5)
  let turns = 0
  const system = systemRuntime()
  function nextTurn(): Promise<void> {
    turns++
    return system.nextTurn()
  }
  const { transport, release, beginCopies } = lateRestores(memoryTransport(at.broker))
  const second = await at.worker(standing, { transport, runtime: { ...system, nextTurn } })
  const { status } = second
  const copies = () => status().standbys.filter(({ behind }) => behind > 0)
  await until(() => status().restoring.length > 0 && copies().length > 0, 'tasks restore, and copies are known')
  beginCopies()
  const [before, since] = [copies(), turns]
  await until(() => turns > since + TURNS, "the worker's loop continues")
  expect(status().restoring.length).toBeGreaterThan(0)
  expect(copies()).toEqual(before)
  release()
  await until(() => status().ready && status().standbys.length > 0 && copies().length === 0, 'all state is complete')
})

test('when partitions move away, their state is kept, and when they come back, only later records are read', async () => {
  const at = bench()
  const { log, starts } = startLog()
  const first = await at.worker(wordCount(), { runtime: systemRuntime(log) })
  await countedWords(at, 20)
  const second = await at.worker(wordCount())
  await until(() => first.status().tasks.length < 5 && second.status().ready, 'some tasks have moved')
  await countedWords(at, 1)
  starts.length = 0
  await second.stop()
  await until(() => first.status().tasks.filter(({ state }) => state === 'RUNNING').length === 5, 'all tasks are back')
  const counting = starts.filter(({ task }) => COUNTING.includes(task))
  expect(counting.length).toBeGreaterThan(0)
  for (const { restored } of counting) expect(restored).toBeLessThanOrEqual(6)
  await countedWords(at, 1)
  expect(at.latest(wordCounts).get('a')).toBe(22)
})

test('state of partitions that moved away is deleted after its retention', async () => {
  const at = bench()
  const backend = memoryBackend()
  const { log, events } = startLog()
  const first = await at.worker(wordCount(), { runtime: systemRuntime(log), backend, keepStateMs: 0 })
  await countedWords(at, 20)
  const second = await at.worker(wordCount())
  await until(() => second.status().tasks.some(({ id }) => COUNTING.includes(id)), 'some tasks have moved')
  const moved = second.status().tasks.filter(({ id }) => COUNTING.includes(id))
  const left = () => moved.flatMap(({ partition }) => [...backend.session('words').column('totals', partition).scan({})])
  await until(() => left().length === 0, 'the state is deleted')
  expect(events).toContain('moved_state_deleted')
  await second.stop()
  await until(() => first.status().tasks.filter(({ state }) => state === 'RUNNING').length === 5, 'all tasks are back')
  await countedWords(at, 1)
  expect(at.latest(wordCounts).get('a')).toBe(21)
})

test('a copy does not count as state with a known input position, so the worker stops if the group offsets have expired', async () => {
  const at = bench()
  const first = newIdentity()
  const running = await at.worker(standing, { identity: first })
  const backend = memoryBackend()
  const second = await at.worker(standing, { backend })
  await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
  await countedWords(at, 5)
  await until(
    () =>
      second.status().standbys.some(({ task, behind, completeAt }) => COUNTING.includes(task) && behind === 0 && completeAt !== undefined),
    'a copy',
  )
  // The second worker stops first, so that it has only copies of the tasks of the first worker.
  await second.stop()
  await running.stop()
  at.broker.groups.forgetOffsets('words')
  const third = await at.worker(standing, { backend })
  await expect(third.done).rejects.toThrow('the input position that belongs to this state is unknown')
})

/** A worker slot. When its process ends, its member identity and its state remain. */
interface Slot {
  readonly identity: MemberIdentity
  readonly backend: StateBackend
}

test('every word is counted once while workers join, leave or lose their membership in the group', async () => {
  const step = fc.record({ slot: fc.nat(2), what: fc.constantFrom('start', 'stop', 'expire', 'send', 'send') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      const at = bench()
      const slots: Slot[] = [0, 1, 2].map(() => ({ identity: newIdentity(), backend: memoryBackend() }))
      const running = new Map<number, Awaited<ReturnType<Bench['worker']>>>()
      let sent = 0
      for (const { slot, what } of [{ slot: 0, what: 'start' }, ...steps]) {
        if (what === 'start' && !running.has(slot)) running.set(slot, await at.worker(standing, { ...slots[slot], keepStateMs: 20 }))
        if (what === 'stop') await running.get(slot)?.stop()
        if (what === 'stop') running.delete(slot)
        if (what === 'expire' && running.has(slot)) at.broker.groups.expire('words', slots[slot].identity.memberId)
        if (what === 'send') for (let i = 0; i < 5; i++) at.send(lines, `author-${i}`, `a b ${sent++ % 3}`)
      }
      if (running.size === 0) running.set(0, await at.worker(standing, slots[0]))
      await until(() => at.all(wordCounts).length >= 3 * sent, 'all words are counted')
      const counts = new Map<string, number[]>()
      for (const { key, value } of at.all(wordCounts)) counts.set(key, [...(counts.get(key) ?? []), value ?? 0])
      for (const list of counts.values()) expect(list).toEqual(list.map((_, i) => i + 1))
      for (const worker of running.values()) await worker.stop()
    }),
    { numRuns: 15 },
  )
})

test('if a worker keeps its place when it stops, no partitions move, and its next process continues', async () => {
  const at = bench()
  const slot: Slot = { identity: newIdentity(), backend: memoryBackend() }
  const first = await at.worker(wordCount(), { ...slot, keepPlaceOnStop: true })
  const other = await at.worker(wordCount())
  await until(() => at.broker.groups.members('words').length === 2 && other.status().ready, 'both workers are members')
  await countedWords(at, 2)
  const before = other.status().tasks.map(({ id }) => id)
  await first.stop()
  expect(at.broker.groups.members('words')).toHaveLength(2)
  const again = await at.worker(wordCount(), slot)
  await until(() => again.status().ready, 'the restarted worker is ready')
  expect(other.status().tasks.map(({ id }) => id)).toEqual(before)
  await countedWords(at, 2)
  expect(at.latest(wordCounts).get('a')).toBe(4)
})
