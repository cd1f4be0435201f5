import { expect, onTestFinished, test } from 'vitest'
import type { MemoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { GroupMember, GroupOptions, PartitionData, ProducerOptions, Transport, WorkerProducer } from '../../../../kafka/transport.ts'
import { timeMarkerHeaders } from '../../../../pipelines/engine/time/time-marker.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { type Bench, bench, until } from '../harness.ts'
import { numberFormat, numberTopic } from '../words.ts'
import { election, publishedTimes, results, undercounted, votes } from './election.ts'

const published = (all: Bench['all']) => publishedTimes(all(results).map(({ key, value }) => ({ key, value: value ?? -1 })))

test('times are published while the input is silent', async () => {
  const { worker, send, all } = bench()
  await worker(election())
  for (let i = 0; i < 30; i++) send(votes, `candidate-${i % 3}`, 1)
  await until(() => published(all).size >= 4, 'several times are published')
  for (const totals of [...published(all).values()].slice(1, 4))
    expect(Object.fromEntries(totals)).toEqual({ 'candidate-0': 10, 'candidate-1': 10, 'candidate-2': 10 })
})

test('while two workers start and stop, no result is published twice or with too few votes', async () => {
  const { worker, send, all } = bench()
  const candidates = 5
  const sent: { time: number; count: number }[] = []
  let count = 0
  const input = setInterval(() => {
    for (let i = 0; i < candidates; i++) send(votes, `candidate-${i}`, 1)
    count += candidates
    sent.push({ time: Date.now(), count })
  }, 10)
  const first = await worker(election())
  await until(() => published(all).size >= 2, 'the first worker publishes')
  const second = await worker(election())
  await until(() => second.status().ready && second.status().tasks.length > 0, 'the second worker has tasks')
  const before = published(all).size
  await until(() => published(all).size >= before + 3, 'both workers publish')
  await first.stop()
  const alone = published(all).size
  await until(() => published(all).size >= alone + 3, 'the second worker continues alone')
  clearInterval(input)
  expect(undercounted(published(all), sent, candidates)).toEqual([])
})

test('a worker that was stopped counts its whole backlog before it publishes a time', async () => {
  const { worker, send, all, broker } = bench()
  const backend = memoryBackend()
  const first = await worker(election(), { backend })
  await until(() => first.status().ready, 'the worker runs')
  await first.stop()
  const before = broker.records('results').length
  for (let i = 0; i < 20_000; i++) send(votes, `candidate-${i % 2}`, 1)
  await worker(election(), { backend })
  await until(() => broker.records('results').length > before, 'the worker publishes')
  const first2 = all(results).slice(before)
  expect(first2.slice(0, 1).map(({ value }) => value)).toEqual([10_000])
})

const LONGEST_HANDLER_MS = 10_000

test('a long-running time handler yields to the event loop, and no partial result is committed', async () => {
  const { worker, send, all, broker } = bench()
  let turns = 0
  let published = 0
  const slow = election({
    *beforeReport() {
      const probe = setInterval(() => {
        turns++
        published += broker.records('results').length
      }, 1)
      // If the handler blocked the event loop, the probe would count no turns, and the deadline would end the handler.
      const deadline = performance.now() + LONGEST_HANDLER_MS
      while (turns < 5 && performance.now() < deadline) yield
      clearInterval(probe)
    },
  })
  await worker(slow)
  send(votes, 'ann', 1)
  await until(() => all(results).length > 0, 'a time is published')
  expect(turns).toBeGreaterThanOrEqual(5)
  expect(published).toBe(0)
})

/**
 * Creates a transport whose producer always has enough data to flush early. `isOpen` returns whether a transaction is
 * open, that is, whether the transaction timeout of a real broker would be running.
 */
function eagerTransport(broker: MemoryBroker): { transport: Transport; isOpen: () => boolean; flushes: () => number } {
  const transport = memoryTransport(broker)
  let open = false
  let flushes = 0
  function producer(options: ProducerOptions): WorkerProducer {
    const inner = transport.producer(options)
    return {
      ...inner,
      pendingBytes: 2 * 1_048_576,
      async flushFull() {
        open = true
        flushes++
      },
      async commit(offsets, member) {
        const ends = await inner.commit(offsets, member)
        open = false
        return ends
      },
    }
  }
  return { transport: { ...transport, producer }, isOpen: () => open, flushes: () => flushes }
}

test('no transaction is open when time handlers start, because the handlers may take longer than the transaction timeout', async () => {
  const { worker, broker } = bench()
  const { transport, isOpen, flushes } = eagerTransport(broker)
  const openAtStart: boolean[] = []
  const watched = election({
    // biome-ignore lint/correctness/useYield: it only observes
    *beforeReport() {
      openAtStart.push(isOpen())
    },
  })
  const running = await worker(watched, { transport, commitIntervalMs: 60_000 })
  await until(() => running.status().ready, 'the worker runs')
  const counts = 'election-counts-repartition'
  const time = Math.floor(Date.now() / 1_000) * 1_000
  for (let i = 0; i < 20_000; i++)
    broker.append(counts, 0, { timestamp: time, key: Buffer.from(`candidate-${i}`), value: Buffer.from('1'), headers: [] })
  for (let partition = 0; partition < votes.partitions; partition++) {
    const headers = timeMarkerHeaders({ stage: votes.name, partition, partitions: votes.partitions, time })
    broker.append(counts, 0, { timestamp: time, key: null, value: null, headers })
  }
  await until(() => openAtStart.length > 0, 'the time is closed')
  expect(flushes()).toBeGreaterThan(0)
  expect(openAtStart).not.toContain(true)
})

/** Wraps a transport so that its fetchers hold back the records of changelogs until `isReleased` returns true. */
function withSlowChangelogs(transport: Transport, isReleased: () => boolean): Transport {
  const isOfChangelog = ({ topic }: PartitionData) => topic.endsWith('-changelog')
  return {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      const kept: PartitionData[] = []
      async function poll(timeoutMs: number, maxBytes?: number): Promise<PartitionData[]> {
        const arrived = await fetcher.poll(Math.min(timeoutMs, 10), maxBytes)
        kept.push(...arrived.filter(isOfChangelog))
        const others = arrived.filter((data) => !isOfChangelog(data))
        return isReleased() ? [...kept.splice(0), ...others] : others
      }
      return { ...fetcher, poll }
    },
  }
}

test('no transaction is open when a task begins with time handlers that its former owner did not finish', async () => {
  const { worker, broker, send } = bench()
  const time = Date.now()
  const ballots = numberTopic('ballots', 1)
  const openAtStart: boolean[] = []
  let isOpen = () => false
  const closing = topology(
    'closing',
    (t) => {
      const counts = t.repartition('counts', { key: utf8, value: numberFormat, partitions: 1 })
      const totals = keyedStore('totals', { key: utf8, value: numberFormat })
      t.source(ballots)
        .process('pass', { emits: [results] }, (by, ctx) => ctx.emit(results, ctx.key, by))
        .markTime({ everyMs: 86_400_000, delayMs: 0, to: counts })
      t.source(counts)
        .process('add', { stores: [totals] }, (by, ctx) => totals.put(ctx.key, by))
        .onTime('report', {}, (at) => {
          if (at !== time) return
          openAtStart.push(isOpen())
          if (openAtStart.length === 1) throw new Error('killed')
        })
    },
    { commitWhenIdle: false, commitIntervalMs: 60_000 },
  )
  const former = eagerTransport(broker)
  const first = await worker(closing, { transport: former.transport })
  await until(() => first.status().ready, 'the worker runs')
  broker.append('closing-counts-repartition', 0, { timestamp: time, key: Buffer.from('ann'), value: Buffer.from('1'), headers: [] })
  await until(() => former.flushes() > 0, 'a part of the transaction is sent')
  const headers = timeMarkerHeaders({ stage: ballots.name, partition: 0, partitions: 1, time })
  broker.append('closing-counts-repartition', 0, { timestamp: time, key: null, value: null, headers })
  await expect(first.done).rejects.toThrow('killed')

  const next = eagerTransport(broker)
  isOpen = next.isOpen
  await worker(closing, { transport: withSlowChangelogs(next.transport, () => next.flushes() > 0) })
  send(ballots, 'ann', 1)
  await until(() => openAtStart.length > 1, 'the next owner runs the time handlers')
  expect(next.flushes()).toBeGreaterThan(0)
  expect(openAtStart[1]).toBe(false)
})

test('after a worker has failed in a time handler, the next worker publishes times again', async () => {
  const { worker, send, all, broker } = bench()
  const { transport } = eagerTransport(broker)
  const backend = memoryBackend()
  let deaths = 0
  const dying = election({
    *beforeReport() {
      yield
      if (deaths++ === 0) throw new Error('killed')
    },
  })
  send(votes, 'ann', 1)
  const first = await worker(dying, { transport, backend })
  const input = setInterval(() => send(votes, 'ann', 1), 1)
  onTestFinished(() => clearInterval(input))
  await expect(first.done).rejects.toThrow('killed')
  await worker(dying, { transport: eagerTransport(broker).transport, backend })
  await until(() => published(all).size >= 3, 'times are published again')
})

test('while a time handler runs, other tasks process no more records than fit into one transaction', async () => {
  const { worker, send, broker } = bench()
  const tallies = numberTopic('tallies', 1)
  const handlerSteps = 200
  // Upper bound for the steps. On a slow machine, the other tasks need more steps to make progress.
  const mostSteps = 2_000
  // A store that has not written anything yet assumes 4 KiB per row, so 8,192 rows already fill the transaction.
  const progress = 8_000
  let handling = false
  let handled = false
  let mostDirty = 0
  const remembering = topology('remembering', (t) => {
    const counts = t.repartition('counts', { key: utf8, value: numberFormat, partitions: 1 })
    const seen = keyedStore('seen', { key: utf8, value: numberFormat })
    t.source(tallies)
      .process('remember', { stores: [seen] }, (by, ctx) => seen.put(ctx.key, by))
      .markTime({ everyMs: 200, delayMs: 0, to: counts })
    t.source(counts).onTime('slow', {}, function* slow() {
      if (handled) return
      handling = true
      for (let i = 0; i < handlerSteps || (i < mostSteps && mostDirty <= progress); i++) {
        const end = performance.now() + 5
        while (performance.now() < end);
        mostDirty = Math.max(
          mostDirty,
          running.status().tasks.reduce((sum, task) => sum + task.dirtyKeys, 0),
        )
        yield
      }
      handled = true
    })
  })
  const running = await worker(remembering)
  await until(() => handling, 'the handler runs')
  for (let i = 0; i < 150_000; i++) send(tallies, `key-${i}`, 1)
  await until(() => handled, 'the handler is done', 25_000)
  const changes = () => broker.records('remembering-seen-changelog').length
  await until(() => changes() >= 150_000, 'the others continue', 25_000)
  expect(mostDirty).toBeGreaterThan(progress)
  expect(mostDirty).toBeLessThan(100_000)
  expect(changes()).toBe(150_000)
}, 60_000)

/**
 * Creates an election whose time handler never ends by itself. Records whether the handler has started and whether it
 * was closed.
 */
function endlessElection() {
  const state = { handling: false, ended: false }
  const declared = election({
    *beforeReport() {
      state.handling = true
      try {
        for (;;) yield
      } finally {
        state.ended = true
      }
    },
  })
  return { topology: declared, state }
}

test('closing a task ends its running time handler and runs the `finally` blocks of the handler', async () => {
  const { worker, send, broker } = bench()
  const endless = endlessElection()
  const running = await worker(endless.topology, { stopGraceMs: 50 })
  send(votes, 'ann', 1)
  await until(() => endless.state.handling, 'the handler runs')
  broker.groups.expire('election', broker.groups.members('election')[0])
  await until(() => running.status().fences > 0, 'the worker restarts its tasks')
  expect(endless.state.ended).toBe(true)
})

/** A runtime whose monotonic clock runs so fast that a rebalance wait of 30 s ends after 0.3 s. */
const hasty = { ...systemRuntime(), monotonic: () => performance.now() * 100 }

test('a time handler that never ends does not keep partitions from a new worker, and no partial result is committed', async () => {
  const { worker, send, broker } = bench()
  const endless = endlessElection()
  const first = await worker(endless.topology, { runtime: hasty, stopGraceMs: 50 })
  send(votes, 'ann', 1)
  await until(() => endless.state.handling, 'the handler runs')
  const second = await worker(endless.topology, { stopGraceMs: 50 })
  await until(() => second.status().tasks.some(({ state }) => state === 'RUNNING'), 'the new worker has partitions')
  await until(() => first.status().tasks.some(({ state }) => state === 'RUNNING'), 'the first worker continues')
  expect(endless.state.ended).toBe(true)
  expect(first.status()).toMatchObject({ state: 'running', restarts: 1, fences: 0 })
  expect(broker.records('results')).toEqual([])
})

test('a time handler that never ends does not keep partitions from a new worker, even if a topic has gained partitions', async () => {
  const { worker, send, broker } = bench()
  const endless = endlessElection()
  const transport = memoryTransport(broker)
  let looks = 0
  async function partitionCounts(topics: readonly string[]) {
    looks++
    return transport.partitionCounts(topics)
  }
  const first = await worker(endless.topology, { runtime: hasty, transport: { ...transport, partitionCounts }, stopGraceMs: 50 })
  send(votes, 'ann', 1)
  await until(() => endless.state.handling, 'the handler runs')
  broker.addPartitions('results', 4)
  const before = looks
  await until(() => looks > before, 'the growth is noticed')
  const second = await worker(endless.topology, { stopGraceMs: 50 })
  await until(() => second.status().tasks.some(({ state }) => state === 'RUNNING'), 'the new worker has partitions')
  expect(first.status()).toMatchObject({ state: 'running', fences: 0 })
})

test('a worker stops after its grace period although a time handler never ends, and commits no partial result', async () => {
  const { worker, send, broker } = bench()
  const { transport, goodbyes } = watchedGoodbyes(broker)
  const endless = endlessElection()
  const running = await worker(endless.topology, { stopGraceMs: 50, keepPlaceOnStop: true, transport })
  send(votes, 'ann', 1)
  await until(() => endless.state.handling, 'the handler runs')
  await running.stop()
  await running.done
  expect(running.status().state).toBe('stopped')
  expect(endless.state.ended).toBe(true)
  expect(broker.records('results')).toEqual([])
  // The worker keeps its place in the group, so its replacement gets the partitions immediately.
  expect(goodbyes.length).toBeGreaterThan(0)
  expect(goodbyes.every((options) => options?.keepPlace === true)).toBe(true)
})

/** Creates a transport that records how its members leave their groups. */
function watchedGoodbyes(broker: MemoryBroker) {
  const inner = memoryTransport(broker)
  const goodbyes: Parameters<GroupMember['leave']>[0][] = []
  function groupMember(options: GroupOptions): GroupMember {
    const member = inner.groupMember(options)
    const { leave } = member
    return Object.assign(member, {
      leave(how?: { keepPlace?: boolean }) {
        goodbyes.push(how)
        return leave(how)
      },
    })
  }
  return { transport: { ...inner, groupMember } satisfies Transport, goodbyes }
}
