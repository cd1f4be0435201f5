import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { registryClient } from '../../../../kafka/registry.ts'
import type { SchemaRegistry } from '../../../../kafka/registry-interface.ts'
import {
  type GroupMember,
  type GroupOptions,
  type ProducerOptions,
  TransportError,
  type WorkerProducer,
} from '../../../../kafka/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { avroValue } from '../../../../schemas/avro/value.ts'
import { type Codec, UnknownSchemaError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic, ValueFormat } from '../../../../schemas/topic.ts'
import { StateCorrupted } from '../../../../state/stores/errors.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../../state/stores/store.ts'
import { bench, newIdentity, until } from '../harness.ts'
import { lines, numberFormat, numberTopic, textTopic, wordCount, wordCounts } from '../words.ts'

interface Greeting {
  text: string
}

const schema = (name: string, extra: object[] = []) => ({
  type: 'record',
  name,
  fields: [{ name: 'text', type: 'string' }, ...extra],
})
const greetings: Topic<string, Greeting> = { name: 'greetings', key: utf8, value: avroValue<Greeting>(schema('Greeting')), partitions: 1 }
const echoes = textTopic('echoes', 1)
const CHANGELOG = 'words-totals-changelog'

const echo = topology('echo', (t) => {
  t.source(greetings).process('echo', { emits: [echoes] }, ({ text }, ctx) => ctx.emit(echoes, ctx.key, text))
})

/** Encodes a greeting in Confluent's wire format, with any schema id. */
function greeting(text: string, schemaId: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.from([0, 0, 0, 0, schemaId, bytes.length << 1])
  return Buffer.concat([head, bytes, rest])
}

test('records whose schema cannot be loaded wait until the registry is back, and none is skipped', async () => {
  const { broker, registry, worker, all } = bench()
  await worker(echo)
  const newer = await registry.register('other', JSON.stringify(schema('Greeting', [{ name: 'lang', type: 'string' }])))
  registry.unreachable = true
  const send = (value: Buffer) => broker.append('greetings', 0, { timestamp: 1, key: Buffer.from('k'), value, headers: [] })
  send(greeting('first', 1))
  send(greeting('second', newer, Buffer.from([4, 0x65, 0x6e])))
  send(greeting('third', 1))
  await until(() => all(echoes).length === 1, 'records with a known schema are processed')
  await until(() => registry.requests >= 2, 'the registry is asked again')
  expect(all(echoes).map(({ value }) => value)).toEqual(['first'])
  expect(broker.records('echo-dead-letters')).toEqual([])
  registry.unreachable = false
  await until(() => all(echoes).length === 3, 'all records are processed, in order')
  expect(all(echoes).map(({ value }) => value)).toEqual(['first', 'second', 'third'])
})

test('records wait for a schema while a proxy responds instead of the registry; the status says why', async () => {
  const { broker, registry: schemas, worker, all } = bench()
  const newer = await schemas.register('other', JSON.stringify(schema('Greeting', [{ name: 'lang', type: 'string' }])))
  let isMended = false
  const registry = {
    register: schemas.register,
    schemaById: registryClient(
      { url: 'http://registry', deadlineMs: 1 },
      { fetch: async () => Response.json({ schema: isMended ? await schemas.schemaById(newer) : '<html>' }) },
    ).schemaById,
  }
  const running = await worker(echo, { registry })
  const value = greeting('waits', newer, Buffer.from([4, 0x65, 0x6e]))
  broker.append('greetings', 0, { timestamp: 1, key: Buffer.from('k'), value, headers: [] })
  await until(() => running.status().schemaRetries >= 2, 'the registry is asked again')
  expect(running.status().waitingForSchemas).toEqual([newer])
  expect(running.status().schemaFailures.get(newer)).toContain('it answers 200 with {"schema":"<html>"}')
  const runner = workerRunner(running)
  expect(runner.report()).toMatchObject({ schema_failures: { [newer]: expect.stringContaining('<html>') } })
  expect([...runner.samples()].filter(({ name }) => name === 'schemas_failing').map(({ value }) => value)).toEqual([1])
  isMended = true
  await until(() => all(echoes).length === 1, 'the record is processed')
  expect(running.status().schemaFailures.size).toBe(0)
  expect(broker.records('echo-dead-letters')).toEqual([])
})

test('records whose schema is missing in the registry become dead letters, and processing continues', async () => {
  const { broker, worker, all } = bench()
  await worker(echo)
  const send = (value: Buffer) => broker.append('greetings', 0, { timestamp: 1, key: Buffer.from('k'), value, headers: [] })
  send(greeting('lost', 99))
  send(greeting('kept', 1))
  await until(() => all(echoes).length === 1, 'the second record is processed')
  expect(broker.records('echo-dead-letters').map(({ value }) => value?.subarray(6).toString())).toEqual(['lost'])
})

/** Creates a topology that counts lines. It can decode its state only after the schema with this id is loaded. */
function counting(schemaId: number) {
  const numbers = numberFormat.open(0, { get: () => undefined })
  const format: ValueFormat<number> = {
    schema: undefined,
    open: (_, schemas): Codec<number> => ({
      encode: numbers.encode,
      decode(buffer, start, end) {
        if (schemas.get(schemaId) === undefined) throw new UnknownSchemaError(schemaId)
        return numbers.decode(buffer, start, end)
      },
    }),
  }
  return topology('counting', (t) => {
    const totals = keyedStore('totals', { key: utf8, value: format })
    t.source(lines).process('count', { stores: [totals], emits: [wordCounts] }, (line, ctx) => {
      const total = (totals.get(line) ?? 0) + 1
      totals.put(line, total)
      ctx.emit(wordCounts, line, total)
    })
  })
}

/** Starts a worker on state that an earlier worker has written, so that reading the state needs a further schema. */
async function onOlderState({ registry, worker, send, latest }: ReturnType<typeof bench>) {
  const tested = counting(await registry.register('old', '"string"'))
  const backend = memoryBackend()
  const first = await worker(tested, { backend })
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 1, 'counted once')
  await first.stop()
  return await worker(tested, { backend })
}

test('a read of state waits until the schema of the state is loaded, even without a prefetch', async () => {
  const tools = bench()
  const { send, latest } = tools
  const second = await onOlderState(tools)
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 2, 'counted on')
  expect(second.status()).toMatchObject({ restarts: 1, fences: 0 })
})

test('a worker that is stopped while it starts ends without joining its group', async () => {
  const { broker, registry } = bench()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const slow: SchemaRegistry = { ...registry, register: async (...schema) => answer.then(() => registry.register(...schema)) }
  const deps = { registry: slow, backend: memoryBackend(), identity: newIdentity(), runtime: systemRuntime() }
  const memory = memoryTransport(broker)
  let joins = 0
  function groupMember(options: GroupOptions): GroupMember {
    const member = memory.groupMember(options)
    return { ...member, join: async () => void joins++ }
  }
  const stopped = createWorker({ topology: echo }, { ...deps, transport: { ...memory, groupMember } })
  const starting = stopped.start()
  await stopped.stop()
  resolve()
  await starting
  await stopped.done
  expect(stopped.status().state).toBe('stopped')
  expect(joins).toBe(0)
})

test('a worker stops cleanly while it waits for the schema of its state', async () => {
  const tools = bench()
  const { registry, send } = tools
  const second = await onOlderState(tools)
  registry.unreachable = true
  send(lines, 'ann', 'a')
  await until(() => second.status().schemaRetries > 0, 'the registry does not answer')
  await second.stop()
  await second.done
  expect(second.status().state).toBe('stopped')
})

test('a bug stops the worker, nothing of the failed transaction is committed, and the worker leaves the group', async () => {
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

/**
 * Creates a backend whose first commits fail.
 * @param failures number of failing writes
 */
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
  expect(words.status().state).toBe('running')
})

test('damage that is found while a task opens its stores is reported as such, and the worker leaves the group', async () => {
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

test('if the state repeatedly cannot be written, the worker stops', async () => {
  const { worker, send } = bench()
  const words = await worker(wordCount(), { backend: failingBackend(1_000) })
  const input = setInterval(() => send(lines, 'ann', 'a'), 5)
  await expect(words.done).rejects.toThrow('the disk is full')
  clearInterval(input)
})

test('after a transient cluster failure at a commit, work is repeated from the last commit', async () => {
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

test('an incompatible schema prevents the start, with the reason from the registry', async () => {
  const { registry, worker } = bench()
  await registry.register('greetings-value', JSON.stringify({ type: 'record', name: 'Greeting', fields: [{ name: 'id', type: 'long' }] }))
  await expect(worker(echo)).rejects.toThrow('greetings')
})

test('sources with different partition counts on the broker prevent the start', async () => {
  const { broker, worker } = bench()
  const joined = topology('joined', (t) => {
    const shared = { stores: [keyedStore('s', { key: utf8, value: numberFormat })] }
    t.source(numberTopic('left')).process('l', shared, () => undefined)
    t.source(numberTopic('right')).process('r', shared, () => undefined)
  })
  broker.createTopic({ name: 'right', partitions: 5 })
  await expect(worker(joined)).rejects.toThrow('left has 2 partitions and right has 5')
})

test('all partitions of a topic are used if it has more than declared', async () => {
  const { broker, worker, latest } = bench()
  broker.createTopic({ name: 'lines', partitions: 5 })
  const words = await worker(wordCount())
  for (let partition = 0; partition < 5; partition++)
    broker.append('lines', partition, { timestamp: 1, key: Buffer.from('k'), value: Buffer.from('all'), headers: [] })
  await until(() => latest(wordCounts).get('all') === 5, 'five lines')
  expect(words.status().tasks).toHaveLength(8)
})

test.each([
  ['earliest', ['old', 'new']],
  ['latest', ['new']],
] as const)('without a committed offset a source begins at %s', async (offsetReset, expected) => {
  const { worker, send, all } = bench()
  const copying = topology('copying', (t) => {
    t.source(textTopic('in', 1), { offsetReset }).process('copy', { emits: [echoes] }, (text, ctx) => ctx.emit(echoes, ctx.key, text))
  })
  send(textTopic('in', 1), 'k', 'old')
  const copy = await worker(copying)
  await until(() => copy.status().ready, 'the worker runs')
  send(textTopic('in', 1), 'k', 'new')
  await until(() => all(echoes).at(-1)?.value === 'new', 'the new record is processed')
  expect(all(echoes).map(({ value }) => value)).toEqual(expected)
})

test('with the reset policy "fail", a missing offset stops the worker', async () => {
  const { worker } = bench()
  const strict = topology('strict', (t) => {
    t.source(textTopic('in', 1), { offsetReset: 'fail' }).process('p', {}, () => undefined)
  })
  const failing = await worker(strict)
  await expect(failing.done).rejects.toThrow('no offset of in-0 is known')
})

test('if the group offsets have expired, the offsets in the state are used', async () => {
  const { broker, worker, send, all } = bench()
  const backend = memoryBackend()
  const first = await worker(wordCount(), { backend })
  send(lines, 'ann', 'a a')
  await until(() => all(wordCounts).length === 2, 'the first line')
  await first.stop()
  broker.groups.forgetOffsets('words')
  send(lines, 'ann', 'a')
  await worker(wordCount(), { backend })
  await until(() => all(wordCounts).length === 3, 'the second line')
  expect(all(wordCounts).map(({ value }) => value)).toEqual([1, 2, 3])
})

/** Deletes a topic and creates it again. Like Kafka, also deletes the group's offsets for its partitions. */
function recreate({ broker }: ReturnType<typeof bench>, topic: Topic<string, string>, group: string): void {
  broker.deleteTopic(topic.name)
  broker.groups.forgetOffsets(group)
  broker.createTopic({ name: topic.name, partitions: topic.partitions })
}

test('a source that was created again while the worker was away is read from its beginning, not from the offset in the state', async () => {
  const texts = textTopic('texts', 1)
  const copying = topology('copying', (t) => {
    t.source(texts).process('copy', { emits: [echoes] }, (text, ctx) => ctx.emit(echoes, ctx.key ?? '', text))
  })
  const b = bench()
  const backend = memoryBackend()
  const first = await b.worker(copying, { backend })
  for (const text of ['a', 'b']) b.send(texts, 'ann', text)
  await until(() => b.all(echoes).length === 2, 'the former records')
  await first.stop()
  recreate(b, texts, 'copying')
  for (const text of ['c', 'd', 'e']) b.send(texts, 'ann', text)
  const second = await b.worker(copying, { backend })
  await until(() => b.all(echoes).length >= 5, 'all new records')
  expect(b.all(echoes).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e'])
  await second.stop()
  b.broker.groups.forgetOffsets('copying')
  b.send(texts, 'ann', 'f')
  await b.worker(copying, { backend })
  await until(() => b.all(echoes).length >= 6, 'the state has the offset in the new topic')
  expect(b.all(echoes).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test('state of a source that was created again stops the worker, because its input position is not known', async () => {
  const texts = textTopic('texts', 1)
  const counting = topology('counting', (t) => {
    const totals = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(texts).process('count', { stores: [totals], emits: [] }, (_text, ctx) => {
      totals.put(ctx.key ?? '', (totals.get(ctx.key ?? '') ?? 0) + 1)
    })
  })
  const b = bench()
  const backend = memoryBackend()
  const first = await b.worker(counting, { backend })
  b.send(texts, 'ann', 'a')
  await until(() => b.broker.log('counting-totals-changelog', 0).endOffset > 0, 'the former record')
  await first.stop()
  recreate(b, texts, 'counting')
  for (const text of ['b', 'c']) b.send(texts, 'ann', text)
  const second = await b.worker(counting, { backend })
  await expect(second.done).rejects.toThrow(/input position that belongs to it is unknown .*a source was deleted and created again/)
})

test('state without a known input position stops the worker, because input could be counted twice', async () => {
  const { broker, worker, send, all } = bench()
  const first = await worker(wordCount())
  send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length === 1, 'the first line')
  await first.stop()
  broker.groups.forgetOffsets('words')
  const second = await worker(wordCount())
  await expect(second.done).rejects.toThrow(/changelog records, but the input position .*delete its changelog topics/)
})

test('processes that end before their first commit leave nothing that the next process mistakes for state', async () => {
  const { broker, worker, send, all, latest } = bench()
  const backend = memoryBackend()
  const counting = wordCount()
  await (await worker(counting, { backend })).stop()
  // An aborted transaction uses up offsets in the log, but has no visible records.
  for (let partition = 0; partition < (broker.partitionCount(CHANGELOG) ?? 0); partition++) broker.log(CHANGELOG, partition).appendControl()
  for (let life = 0; life < 2; life++) {
    const running = await worker(counting, { backend })
    await until(() => running.status().ready, 'the worker runs')
    await running.stop()
  }
  send(lines, 'ann', 'a')
  await worker(counting, { backend })
  await until(() => all(wordCounts).length === 1, 'the line is counted')
  expect(latest(wordCounts)).toEqual(new Map([['a', 1]]))
})

test('with at-least-once everything is processed without transactions', async () => {
  const { broker, worker, send, latest } = bench()
  await worker(wordCount(), { guarantee: 'at-least-once' })
  for (let i = 0; i < 20; i++) send(lines, `author-${i}`, 'a b')
  await until(() => latest(wordCounts).get('b') === 20 && latest(wordCounts).get('a') === 20, 'all words are counted')
  const offsets = broker.records('word-counts').map(({ offset, partition }) => `${partition} ${offset}`)
  expect(offsets).toContain('0 1')
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

test('tasks that wait for a schema block neither the input nor the processing of others', async () => {
  const { broker, registry, worker, all } = bench()
  const many: Topic<string, Greeting> = { ...greetings, name: 'many-greetings', partitions: 4 }
  const out = textTopic('many-echoes', 1)
  const echoing = topology('echoing', (t) => {
    t.source(many).process('echo', { emits: [out] }, ({ text }, ctx) => ctx.emit(out, ctx.key, text))
  })
  const running = await worker(echoing)
  await until(() => running.status().ready, 'the worker runs')
  registry.unreachable = true
  const send = (partition: number, value: Buffer) =>
    broker.append(many.name, partition, { timestamp: 1, key: Buffer.from('k'), value, headers: [] })
  const large = Buffer.alloc(1_000, 'x')
  for (const partition of [0, 1, 2]) for (let i = 0; i < 5_000; i++) send(partition, greeting('late', 77, large))
  await until(() => running.status().waitingForSchemas.includes(77), 'three tasks wait')
  await until(
    () => running.status().tasks.filter((task) => task.queuedBytes > 4_000_000).length === 3,
    'the queues of three tasks are full',
  )
  send(3, greeting('on time', 1))
  await until(() => all(out).length > 0, 'the fourth continues')
  expect(all(out).map(({ value }) => value)).toEqual(['on time'])
  expect(running.status().waitingForSchemas).toEqual([77])
})

test('a clock that is set back does not delay commits', async () => {
  const { worker, send, latest } = bench()
  const echoing = topology(
    'timely',
    (t) => {
      t.source(lines).process('count', { emits: [wordCounts] }, (line, ctx) => ctx.emit(wordCounts, line, 1))
    },
    { commitWhenIdle: false },
  )
  let setBackMs = 0
  await worker(echoing, { runtime: { ...systemRuntime(), now: () => Date.now() - setBackMs } })
  send(lines, 'ann', 'before')
  await until(() => latest(wordCounts).has('before'), 'the worker commits')
  setBackMs = 3_600_000
  send(lines, 'ann', 'after')
  await until(() => latest(wordCounts).has('after'), 'the worker commits')
  expect([...latest(wordCounts).keys()].sort()).toEqual(['after', 'before'])
})

test('a clock that is temporarily set forward delays neither commits nor wall ticks, neither at that time nor later', async () => {
  const { worker, send, latest } = bench()
  const times: number[] = []
  const ticking = topology(
    'timely',
    (t) => {
      t.source(lines)
        .process('count', { emits: [wordCounts] }, (line, ctx) => ctx.emit(wordCounts, line, 1))
        .tick('tick', { everyMs: 20, clock: 'wall' }, (time) => void times.push(time))
    },
    { commitWhenIdle: false },
  )
  let aheadMs = 0
  await worker(ticking, { runtime: { ...systemRuntime(), now: () => Date.now() + aheadMs } })
  for (const [word, ms] of [
    ['before', 0],
    ['ahead', 3_600_000],
    ['right again', 0],
  ] as const) {
    aheadMs = ms
    times.length = 0
    send(lines, 'ann', word)
    await until(() => latest(wordCounts).has(word), 'the worker commits')
    await until(() => times.some((time) => Math.abs(time - Date.now() - ms) < 1_800_000), 'a tick has the changed time')
  }
  expect([...latest(wordCounts).keys()].sort()).toEqual(['ahead', 'before', 'right again'])
})

test('a clock that is set back by hours delays no wall tick', async () => {
  const times: number[] = []
  const ticking = topology('ticking', (t) => {
    t.source(lines).tick('tick', { everyMs: 20, clock: 'wall' }, (time) => void times.push(time))
  })
  let setBackMs = 0
  const running = await bench().worker(ticking, { runtime: { ...systemRuntime(), now: () => Date.now() - setBackMs } })
  await until(() => running.status().ready && times.length > 0, 'the worker ticks')
  setBackMs = 3_600_000
  await until(() => times.some((time) => time < Date.now() - 1_800_000), 'a tick has the new time')
  const count = times.length
  await until(() => times.length > count, 'the ticks continue')
  expect(times.at(-1)).toBeLessThan(Date.now() - 1_800_000)
})

test('transient failures do not count as fencing, however many there are', async () => {
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
