import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { registryClient } from '../../../../kafka/registry.ts'
import type { SchemaRegistry } from '../../../../kafka/registry-interface.ts'
import { avroValue, keyedStore, type RunOptions, run, type Topic, topology, utf8 } from '../../../../pipelines/engine/index.ts'
import { memoryRegistry } from '../../../../pipelines/engine/testing.ts'
import { silentLog } from '../../../../runtime/system.ts'
import { currentGeneration } from '../../../../state/stores/rocksdb-folders.ts'
import { commit, connected, newProducer } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { isOnDisk } from '../../../state/stores/harness.ts'
import { until } from '../harness.ts'
import { textTopic } from '../words.ts'

const SHORT_DEADLINE_MS = 300
const ERASE_WITHIN_MS = 2_000
/** A value that no file contains by chance. */
const SECRET = 'the secret that nobody may find'

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** Returns an address at which nothing listens. */
async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${port}`
}

function options(more: Partial<RunOptions> = {}): RunOptions {
  return { brokers, registry: memoryRegistry(), stateFolder: guardedFolder().path, log: silentLog, ...more }
}

/** Creates a topology that counts the records of a text topic. */
function counting(input: Topic<string, string> = textTopic(uniqueName('input'))) {
  return topology(uniqueName('counting'), (t) => {
    const seen = keyedStore('seen', { key: utf8, value: avroValue<number>('int') })
    t.source(input).process('count', { stores: [seen] }, (_value, ctx) => seen.put(ctx.key, (seen.get(ctx.key) ?? 0) + 1))
  })
}

async function failureOf(topology: ReturnType<typeof counting>, given: RunOptions): Promise<string> {
  const error = await run(topology, given).then(
    async (worker) => {
      await worker.stop()
      return new Error('it runs')
    },
    (reason: Error) => reason,
  )
  expect(error.message.split('\n')).toHaveLength(1)
  return error.message
}

test('a worker without a port runs, answers queries and stops', async () => {
  const worker = await run(counting(), options())
  onTestFinished(worker.stop)
  await until(() => worker.status().ready, 'the worker is ready', 60_000)
  expect(worker.healthPort).toBeUndefined()
  expect(await worker.queries?.getBytes('seen', Buffer.from('nobody'))).toMatchObject({ outcome: 'answered', value: undefined })
  await worker.stop()
  expect(await worker.done).toBeUndefined()
  expect(worker.queries).toBeUndefined()
})

test('deleted values of an erasable store disappear from the state folder', async () => {
  const input = textTopic(uniqueName('input'), 1)
  const keeping = topology(uniqueName('keeping'), (t) => {
    const secrets = keyedStore('secrets', { key: utf8, value: input.value, erasable: true })
    t.source(input).process('keep', { stores: [secrets] }, (value, ctx) => {
      if (value === '') secrets.delete(ctx.key!)
      else secrets.put(ctx.key!, value)
    })
  })
  const given = options({ eraseWithinMs: ERASE_WITHIN_MS })
  const worker = await run(keeping, given)
  onTestFinished(worker.stop)
  const transport = await connected(brokers)
  const producer = await newProducer(transport)
  const send = async (text: string) => {
    const [key, value] = [Buffer.from('key'), Buffer.from(text)]
    producer.appender(input.name, 0).append(Date.now(), key, 0, key.length, value, 0, value.length)
    await commit(producer)
  }
  const holds = () => isOnDisk(given.stateFolder, SECRET)
  await send(SECRET)
  await until(holds, 'the value is in a file', 60_000)
  await send('')
  await until(() => !holds(), 'the value has disappeared from all files', 60_000)
})

test('a worker that still waits for the schema registry rewrites the database of its erasable stores', async () => {
  const input = textTopic(uniqueName('input'), 1)
  const keeping = topology(uniqueName('keeping'), (t) => {
    const secrets = keyedStore('secrets', { key: utf8, value: avroValue<string>('string'), erasable: true })
    t.source(input).process('keep', { stores: [secrets] }, (value, ctx) => secrets.put(ctx.key!, value))
  })
  const registry = memoryRegistry()
  const answered = Promise.withResolvers<void>()
  const register: SchemaRegistry['register'] = (...given) => answered.promise.then(() => registry.register(...given))
  const given = options({ eraseWithinMs: ERASE_WITHIN_MS, registry: { ...registry, register } })
  let isRunning = false
  const running = run(keeping, given).finally(() => {
    isRunning = true
  })
  onTestFinished(async () => {
    answered.resolve()
    await (await running).stop()
  })
  await until(() => currentGeneration(join(given.stateFolder, 'erasable')) !== undefined, 'the database is rewritten', 20_000)
  expect(isRunning).toBe(false)
})

test('if the time for erasure is not positive, the start fails and leaves no signal listener', async () => {
  const before = process.listenerCount('SIGTERM')
  const given = options({ eraseWithinMs: 0, stopOnSignals: true })
  expect(await failureOf(counting(), given)).toBe('eraseWithinMs must be a positive number of milliseconds')
  expect(process.listenerCount('SIGTERM')).toBe(before)
})

test('SIGTERM stops a worker with `stopOnSignals`', async () => {
  const worker = await run(counting(), options({ stopOnSignals: true }))
  const before = process.listenerCount('SIGTERM')
  // Calls the listener directly, because other parts of the test process would also react to a real signal.
  process.listeners('SIGTERM').at(-1)?.('SIGTERM')
  await worker.done
  expect(worker.status().state).toBe('stopped')
  expect(process.listenerCount('SIGTERM')).toBe(before - 1)
  expect(process.listenerCount('SIGINT')).toBe(process.listenerCount('SIGTERM'))
})

test('if no broker can be reached, the start fails and the error gives a hint', async () => {
  const address = await nowhere()
  expect(await failureOf(counting(), options({ brokers: address }))).toMatch(
    new RegExp(`none of the brokers ${address} can be reached: .*; is Kafka running, and are the addresses right\\?`),
  )
})

test('if a broker address is invalid, the start fails and the error gives an example', async () => {
  expect(await failureOf(counting(), options({ brokers: 'localhost' }))).toBe('brokers.0: a broker is host:port, e.g. 127.0.0.1:9092')
})

test('if the schema registry does not answer, the start fails and the error contains the URL', async () => {
  const url = `http://${await nowhere()}`
  const registry = registryClient({ url, deadlineMs: SHORT_DEADLINE_MS })
  expect(await failureOf(counting(), options({ registry }))).toMatch(`no usable answer from the schema registry at ${url}`)
})

test('a state folder that is in use becomes usable once its worker has stopped', async () => {
  const given = options()
  const tested = counting()
  const worker = await run(tested, given)
  expect(await failureOf(tested, given)).toMatch(`the state folder ${given.stateFolder} is in use by another process: `)
  await worker.stop()
  const next = await run(tested, given)
  await next.stop()
})

test('a failed start releases the state folder for the next start', async () => {
  const given = options({ healthPort: 0 })
  await failureOf(counting(), { ...given, brokers: await nowhere() })
  const worker = await run(counting(), given)
  expect((await fetch(`http://127.0.0.1:${worker.healthPort}/livez`)).status).toBe(200)
  await worker.stop()
})

test('a tick that throws ends the worker, whether or not the worker has a port', async () => {
  for (const healthPort of [undefined, 0]) {
    const input = textTopic(uniqueName('input'))
    const failing = topology(uniqueName('failing'), (t) => {
      t.source(input).tick('fail', { everyMs: 100, clock: 'wall' }, () => {
        throw new Error('no more')
      })
    })
    const worker = await run(failing, options({ healthPort }))
    await expect(worker.done).rejects.toThrow('fail failed: no more')
  }
})
