import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import {
  type GroupMember,
  type GroupOptions,
  type ProducerOptions,
  type TopicPartition,
  type Transport,
  TransportError,
  type WorkerProducer,
} from '../../../../kafka/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { StateCorrupted } from '../../../../state/stores/errors.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../../state/stores/store.ts'
import { bench, until } from '../harness.ts'
import { lines, numberFormat, textTopic, wordCount, wordCounts } from '../words.ts'

test('a bug stops the worker, no part of the failed transaction is committed, and the worker leaves the group', async () => {
  const { broker, worker, send, all } = bench()
  const fragile = topology('fragile', (t) => {
    t.source(lines).process('parse', { emits: [wordCounts] }, (line, ctx) => {
      ctx.emit(wordCounts, line, 1)
      if (line === 'bad') throw new Error('cannot parse')
    })
  })
  const failing = await worker(fragile)
  send(lines, 'ann', 'bad')
  await expect(failing.done).rejects.toThrow(/fragile\/parse failed at lines-\d offset 0: cannot parse/)
  expect(all(wordCounts)).toEqual([])
  expect(broker.groups.members('fragile')).toEqual([])
  expect(failing.status().state).toBe('failed')
})

/** Creates a backend whose first `failures` writes fail. */
function failingBackend(failures: number): StateBackend {
  const backend = memoryBackend()
  return {
    ...backend,
    session(topology) {
      const session = backend.session(topology)
      return {
        ...session,
        takeBatch() {
          const batch = session.takeBatch()
          return {
            ...batch,
            write() {
              if (failures-- > 0) throw new Error('the disk is full')
              batch.write()
            },
          }
        },
      }
    },
  }
}

test('if the state cannot be written after a commit, the tasks restart and read the changelog', async () => {
  const { worker, send, all } = bench()
  const words = await worker(wordCount(), { backend: failingBackend(2) })
  for (let i = 0; i < 10; i++) {
    send(lines, 'ann', 'a')
    await until(() => all(wordCounts).length === i + 1, `line ${i}`)
  }
  expect(all(wordCounts).map(({ value }) => value)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(words.status()).toMatchObject({ state: 'running', restarts: 2 })
})

test('damage that is found while a task opens its stores is reported as damage, and the worker leaves the group', async () => {
  const { broker, worker } = bench()
  const guarded = topology('guarded', (t) => {
    const [known, totals] = ['known', 'totals'].map((name) =>
      keyedStore(name, { key: utf8, value: numberFormat, sparse: name === 'known' }),
    )
    t.source(lines).process('count', { stores: [known, totals] }, () => {})
  })
  const backend = memoryBackend()
  const damaged: StateBackend = {
    ...backend,
    session(name) {
      const session = backend.session(name)
      const scan = () => {
        throw new StateCorrupted('corruption found while reading store known')
      }
      return { ...session, column: (store, partition) => ({ ...session.column(store, partition), ...(store === 'known' && { scan }) }) }
    },
  }
  const failing = await worker(guarded, { backend: damaged })
  await expect(failing.done).rejects.toThrow(StateCorrupted)
  expect(broker.groups.members('guarded')).toEqual([])
})

test('a restore does not wait forever for records that the changelog has lost since the restore began', async () => {
  const { broker, worker, send, latest } = bench()
  const first = await worker(wordCount())
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 1, 'the first line')
  await first.stop()
  const transport = memoryTransport(broker)
  let lost = 2
  const losing: Transport = {
    ...transport,
    async offsets(partitions, at) {
      const found = await transport.offsets(partitions, at)
      for (const [key, offset] of found) if (at === 'end' && key.includes('changelog')) found.set(key, offset + lost)
      return found
    },
  }
  const system = systemRuntime()
  let passed = 0
  const runtime = { ...system, monotonic: () => system.monotonic() + passed }
  const second = await worker(wordCount(), { transport: losing, runtime })
  await until(() => second.status().restoring.some(({ remaining }) => remaining === lost), 'the restore has read the log')
  lost = 0
  await until(() => {
    passed += 10_000
    return second.status().ready
  }, 'the tasks run')
  expect(second.status().restarts).toBe(0)
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 2, 'the second line')
})

test('if the state repeatedly cannot be written, the worker stops', async () => {
  const { worker, send } = bench()
  const words = await worker(wordCount(), { backend: failingBackend(1_000) })
  const input = setInterval(() => send(lines, 'ann', 'a'), 5)
  await expect(words.done).rejects.toThrow('the disk is full')
  clearInterval(input)
})

test('after a transient cluster failure during a commit, the worker repeats all work since the last commit', async () => {
  const { broker, worker, send, all } = bench()
  const transport = memoryTransport(broker)
  let failures = 2
  const shaky = {
    ...transport,
    producer(options: Parameters<typeof transport.producer>[0]) {
      const producer = transport.producer(options)
      const { commit } = producer
      producer.commit = async (offsets, member) => {
        if (failures-- > 0) throw new TransportError('REQUEST_TIMED_OUT', 'the brokers are unreachable', { fatal: false })
        return commit(offsets, member)
      }
      return producer
    },
  }
  await worker(wordCount(), { transport: shaky })
  for (let i = 0; i < 5; i++) send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length === 5, 'all words are counted')
  expect(all(wordCounts).map(({ value }) => value)).toEqual([1, 2, 3, 4, 5])
})

test('a worker stops while the broker is unreachable, and abandons its pending requests', async () => {
  const { broker, worker, send } = bench()
  const transport = memoryTransport(broker)
  const away = Promise.withResolvers<never>()
  away.promise.catch(() => {})
  let committing = false
  /** Creates a producer that, like the real one, retries requests until they succeed or it is closed. */
  function producer(options: ProducerOptions): WorkerProducer {
    const inner = transport.producer(options)
    const unanswered = async () => {
      committing = true
      return away.promise
    }
    const close = async () => away.reject(new TransportError('CLOSED', 'the transport was closed', { fatal: false }))
    return { ...inner, commit: unanswered, abort: unanswered, close }
  }
  const running = await worker(wordCount(), { transport: { ...transport, producer }, stopGraceMs: 50 })
  send(lines, 'ann', 'a')
  await until(() => committing, 'the worker commits')
  await running.stop()
  // The worker stopped gracefully, so the process would exit with code 0.
  await running.done
  expect(running.status().state).toBe('stopped')
})

test('a worker fails when its transport was closed, instead of retrying forever', async () => {
  const { broker, worker, send } = bench()
  const transport = memoryTransport(broker)
  const closed = async () => Promise.reject(new TransportError('CLOSED', 'the transport was closed', { fatal: false }))
  const producer = (options: ProducerOptions): WorkerProducer => ({ ...transport.producer(options), commit: closed, abort: closed })
  const running = await worker(wordCount(), { transport: { ...transport, producer } })
  send(lines, 'ann', 'a')
  await expect(running.done).rejects.toThrow('the transport was closed')
  expect(running.status().state).not.toBe('running')
})

test('after each of eight failed commits in a row, the worker restarts its tasks, and the failures do not count as fencing', async () => {
  const { broker, worker, send, all } = bench()
  const transport = memoryTransport(broker)
  let failures = 8
  const shaky = {
    ...transport,
    producer(options: ProducerOptions) {
      const producer = transport.producer(options)
      const { commit } = producer
      producer.commit = async (offsets, member) => {
        if (failures-- > 0) throw new TransportError('REQUEST_TIMED_OUT', 'the brokers are unreachable', { fatal: false })
        return commit(offsets, member)
      }
      return producer
    },
  }
  const words = await worker(wordCount(), { transport: shaky })
  send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length === 1, 'the word is counted')
  expect(words.status()).toMatchObject({ state: 'running', restarts: 8, fences: 0 })
})

test('a worker stops cleanly while it gives up partitions and still waits for the offsets of other partitions', async () => {
  const { broker, worker, send } = bench()
  const lists = textTopic('lists', 2)
  const reading = topology('reading', (t) => {
    t.source(lists).process('read', { emits: [wordCounts] }, (line, ctx) => ctx.emit(wordCounts, line, 1))
  })
  const start = (memberId: string, options = {}) => worker(reading, { identity: { memberId, transactionalId: memberId }, ...options })
  const transport = memoryTransport(broker)
  let isAway = false
  let unanswered = 0
  let assignments = 0
  function groupMember(options: GroupOptions): GroupMember {
    const member = transport.groupMember(options)
    async function committed(partitions: readonly TopicPartition[]) {
      if (!isAway) return member.committed(partitions)
      unanswered++
      throw new TransportError('REQUEST_TIMED_OUT', 'the coordinator does not answer', { fatal: false })
    }
    function takeEvent() {
      const event = member.takeEvent()
      if (event?.type === 'assignment') assignments++
      return event
    }
    return { ...member, committed, takeEvent }
  }
  const stopped = await start('b', { transport: { ...transport, groupMember } })
  const other = await start('c')
  await until(() => stopped.status().ready && stopped.status().tasks.length === 1 && other.status().ready, 'each worker has a partition')
  isAway = true
  await other.stop()
  await until(() => unanswered > 0, 'the worker asks for the offsets of the second partition')
  const gate = Promise.withResolvers<void>()
  broker.commitGate = gate.promise
  for (let line = 0; line < 20; line++) send(lists, `k${line}`, 'a')
  await until(() => broker.waitingCommits > 0, 'a commit is in flight')
  // The first partition moves to the new worker, but only after the commit.
  const before = assignments
  await start('a')
  await until(() => assignments > before, 'the worker receives the new assignment')
  const stop = stopped.stop()
  // The worker abandons its requests for offsets before the commit ends.
  await systemRuntime().nextTurn()
  gate.resolve()
  await stop
  await stopped.done
  expect(stopped.status().state).toBe('stopped')
})
