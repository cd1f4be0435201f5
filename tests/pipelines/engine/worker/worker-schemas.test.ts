import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { registryClient } from '../../../../kafka/registry.ts'
import type { SchemaRegistry } from '../../../../kafka/registry-interface.ts'
import { type GroupMember, type GroupOptions, TransportError } from '../../../../kafka/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { avroValue } from '../../../../schemas/avro/value.ts'
import { type Codec, UnknownSchemaError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic, ValueFormat } from '../../../../schemas/topic.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { bench, newIdentity, until } from '../harness.ts'
import { lines, numberFormat, textTopic, wordCounts } from '../words.ts'

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

const echo = topology('echo', (t) => {
  t.source(greetings).process('echo', { emits: [echoes] }, ({ text }, ctx) => ctx.emit(echoes, ctx.key, text))
})

/**
 * Encodes a short greeting in Confluent's wire format, with a schema id below 256.
 * @param rest the encoded fields after the text
 */
function greeting(text: string, schemaId: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.from([0, 0, 0, 0, schemaId, bytes.length << 1])
  return Buffer.concat([head, bytes, rest])
}

test('records whose schema cannot be loaded wait until the registry is available again, and none is skipped', async () => {
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

test('records wait for a schema while a proxy responds instead of the registry, and the status gives the reason', async () => {
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

test('records whose schema is missing from the registry become dead letters, and processing continues', async () => {
  const { broker, worker, all } = bench()
  await worker(echo)
  const send = (value: Buffer) => broker.append('greetings', 0, { timestamp: 1, key: Buffer.from('k'), value, headers: [] })
  send(greeting('lost', 99))
  send(greeting('kept', 1))
  await until(() => all(echoes).length === 1, 'the second record is processed')
  expect(broker.records('echo-dead-letters').map(({ value }) => value?.subarray(6).toString())).toEqual(['lost'])
})

/**
 * Creates a topology that counts lines. It can decode its state only after the schema `schemaId` is loaded.
 * @param prefetches true if the processor announces its reads
 */
function counting(schemaId: number, prefetches = false) {
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
    const reads = prefetches ? (line: string) => totals.prefetch(line) : undefined
    t.source(lines).process('count', { reads, stores: [totals], emits: [wordCounts] }, (line, ctx) => {
      const total = (totals.get(line) ?? 0) + 1
      totals.put(line, total)
      ctx.emit(wordCounts, line, total)
    })
  })
}

/**
 * Starts a worker on state that an earlier worker has written, so that the worker must load a schema to read the state.
 */
async function onOlderState(
  { registry, worker, send, latest }: ReturnType<typeof bench>,
  tested = registry.register('old', '"string"').then((schemaId) => counting(schemaId)),
) {
  const backend = memoryBackend()
  const first = await worker(await tested, { backend })
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 1, 'counted once')
  await first.stop()
  return await worker(await tested, { backend })
}

test('a read of state waits until the schema of the state is loaded, even without a prefetch', async () => {
  const tools = bench()
  const { send, latest } = tools
  const second = await onOlderState(tools)
  send(lines, 'ann', 'a')
  await until(() => latest(wordCounts).get('a') === 2, 'counted twice')
  expect(second.status()).toMatchObject({ restarts: 1, fences: 0 })
})

test.each([false, true])(
  'if the registry lacks the schema of the stored state, a worker stops and its error names the schema (with a prefetch: %s)',
  async (prefetches) => {
    const tools = bench()
    const second = await onOlderState(tools, Promise.resolve(counting(99, prefetches)))
    tools.send(lines, 'ann', 'a')
    await until(() => second.status().state === 'failed', 'the worker has stopped')
    await expect(second.done).rejects.toThrow(/schema 99/)
  },
)

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

test('a worker that is stopped while brokers initialise its producer ends without an error', async () => {
  const { broker, registry } = bench()
  const deps = { registry, backend: memoryBackend(), identity: newIdentity(), runtime: systemRuntime() }
  const memory = memoryTransport(broker)
  const initialising = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const producer: typeof memory.producer = (options) => ({
    ...memory.producer(options),
    async init() {
      initialising.resolve()
      await closed.promise
      throw new TransportError('CLOSED', 'the transport was closed', { fatal: false })
    },
    close: async () => closed.resolve(),
  })
  const stopped = createWorker({ topology: echo }, { ...deps, transport: { ...memory, producer } })
  const starting = stopped.start()
  await initialising.promise
  await stopped.stop()
  await starting
  await stopped.done
  expect(stopped.status().state).toBe('stopped')
})

test('if a worker cannot start, its state is `failed` and its `done` promise rejects', async () => {
  const { broker, registry } = bench()
  const deps = { backend: memoryBackend(), identity: newIdentity(), runtime: systemRuntime() }
  registry.unreachable = true
  const failing = createWorker({ topology: echo }, { ...deps, registry, transport: memoryTransport(broker) })
  await expect(failing.start()).rejects.toThrow('the schema registry cannot be reached')
  await expect(failing.done).rejects.toThrow('the schema registry cannot be reached')
  expect(failing.status().state).toBe('failed')
})

test('a worker can be stopped cleanly while it waits for the schema of its state', async () => {
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

test('an incompatible schema prevents the start, and the error contains the reason from the registry', async () => {
  const { registry, worker } = bench()
  await registry.register('greetings-value', JSON.stringify({ type: 'record', name: 'Greeting', fields: [{ name: 'id', type: 'long' }] }))
  await expect(worker(echo)).rejects.toThrow(/greetings.*the writer does not have the field, and the field has no default/)
})

test('tasks that wait for a schema block neither the input of other tasks nor their processing', async () => {
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
