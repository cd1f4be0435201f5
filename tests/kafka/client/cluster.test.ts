import { expect, test } from 'vitest'
import { openCluster } from '../../../kafka/client/cluster.ts'
import { type Context, kafkaOptions, type NewConnection } from '../../../kafka/client/options.ts'
import { type Connection, Reader, Writer } from '../../../kafka/client/protocol.ts'
import { type ManualRuntime, manualRuntime } from '../../../runtime/manual.ts'

const TOPIC_AUTHORIZATION_FAILED = 29
const NODE = 1
const PARTITIONS = [0]
const ID = '00000000-0000-4000-8000-000000000001'

type Parser = (correlationId: number, apiKey: number, apiVersion: number, reader: Reader) => unknown
type Callback = (error: Error | null, response?: unknown) => void

/** Returns the response to a metadata request of version 12 from a cluster that refuses the topic `secret`. */
function metadataAnswer(request: Reader): Writer {
  const names = request.readArray((topic) => {
    topic.readUUID()
    return topic.readString()
  })
  const answer = Writer.create().appendInt32(0)
  answer.appendArray([NODE], (writer, node) => {
    writer.appendInt32(node).appendString('127.0.0.1').appendInt32(9092).appendString(null)
  })
  answer.appendString('cluster').appendInt32(NODE)
  answer.appendArray(names, (writer, name) => {
    const isRefused = name === 'secret'
    writer.appendInt16(isRefused ? TOPIC_AUTHORIZATION_FAILED : 0).appendString(name)
    writer.appendUUID(isRefused ? undefined : ID).appendBoolean(false)
    writer.appendArray(isRefused ? [] : PARTITIONS, (inner, partition) => {
      inner.appendInt16(0).appendInt32(partition).appendInt32(NODE).appendInt32(0)
      for (let list = 0; list < 3; list++) inner.appendArray([], () => {}, true, false)
    })
    writer.appendInt32(0)
  })
  return answer.appendTaggedFields()
}

function connection(): Connection {
  return {
    on: () => {},
    once: () => {},
    connect: async () => {},
    close: async () => {},
    isConnected: () => true,
    send(apiKey: number, version: number, payload: () => Writer, parse: Parser, _request: boolean, _response: boolean, answered: Callback) {
      try {
        answered(null, parse(0, apiKey, version, Reader.from(metadataAnswer(Reader.from(payload().buffer)).buffer)))
      } catch (error) {
        answered(error as Error)
      }
    },
  } as unknown as Connection
}

test('if a broker refuses one topic of a metadata request, the client still finds the leaders of the other topics', async () => {
  const options = kafkaOptions.parse({ brokers: ['127.0.0.1:9092'], clientId: 'test' })
  const context: Context = { options, runtime: manualRuntime(), newConnection: connection, closing: new AbortController().signal }
  const cluster = openCluster(context)
  const results = await Promise.allSettled([cluster.refresh(['secret']), cluster.refresh(['open'])])
  expect(results).toMatchObject([
    { status: 'rejected', reason: { code: 'TOPIC_AUTHORIZATION_FAILED', fatal: true } },
    { status: 'fulfilled' },
  ])
  expect(cluster.leader('open', 0)?.nodeId).toBe(NODE)
})

/** Slightly longer than the interval of the client's scheduled metadata requests. */
const METADATA_PERIOD_MS = 301_000
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Returns a function that creates connections to brokers. The brokers whose ports are in `hanging` accept requests, but
 * never answer them.
 * @param asked receives the port to which each request is sent
 */
function connectionsTo(runtime: ManualRuntime, hanging: ReadonlySet<number>, asked: number[]): NewConnection {
  return () => {
    let to = 0
    const sound = connection()
    return {
      ...sound,
      async connect(_host: string, port: number) {
        to = port
      },
      send(...request: Parameters<Connection['send']>) {
        asked.push(to)
        if (!hanging.has(to)) return sound.send(...request)
        runtime.setTimer(REQUEST_TIMEOUT_MS, () => request[6](new Error('no answer'), undefined as never))
      },
    } as unknown as Connection
  }
}

test('while a broker hangs, only the first metadata request waits for it, and after its recovery the broker gets requests again', async () => {
  const runtime = manualRuntime()
  const options = kafkaOptions.parse({ brokers: ['127.0.0.1:9092', '127.0.0.1:9093'], clientId: 'test' })
  const asked: number[] = []
  const hanging = new Set([9092])
  const context: Context = {
    options,
    runtime,
    newConnection: connectionsTo(runtime, hanging, asked),
    closing: new AbortController().signal,
  }
  const cluster = openCluster(context)

  async function refreshTakes(topic: string): Promise<number> {
    const begun = runtime.monotonic()
    const done = cluster.refresh([topic]).then(() => runtime.monotonic() - begun)
    for (let step = 0; step < 10; step++) await runtime.nextTurn()
    runtime.advance(REQUEST_TIMEOUT_MS)
    return done
  }

  expect(await refreshTakes('t')).toBe(REQUEST_TIMEOUT_MS)
  for (let period = 0; period < 4; period++) {
    runtime.advance(METADATA_PERIOD_MS)
    cluster.leader('t', 0)
    expect(await refreshTakes(`t${period}`)).toBe(0)
  }
  hanging.clear()
  asked.length = 0
  for (let period = 0; period < 3; period++) {
    runtime.advance(METADATA_PERIOD_MS)
    cluster.leader('t', 0)
    await refreshTakes('t')
  }
  expect(new Set(asked)).toEqual(new Set([9092, 9093]))
})

test('while several brokers hang, only the first metadata requests wait for them', async () => {
  const runtime = manualRuntime()
  const options = kafkaOptions.parse({ brokers: [9092, 9093, 9094, 9095].map((port) => `127.0.0.1:${port}`), clientId: 'test' })
  const hanging = new Set<number>()
  const newConnection = connectionsTo(runtime, hanging, [])
  const cluster = openCluster({ options, runtime, newConnection, closing: new AbortController().signal })

  async function refreshTakes(topic: string): Promise<number> {
    const begun = runtime.monotonic()
    let took: number | undefined
    const done = cluster.refresh([topic]).then(() => {
      took = runtime.monotonic() - begun
    })
    while (took === undefined) {
      for (let step = 0; step < 10; step++) await runtime.nextTurn()
      if (took === undefined) runtime.advance(REQUEST_TIMEOUT_MS)
    }
    await done
    return took
  }

  expect(await refreshTakes('t')).toBe(0)
  hanging.add(9092).add(9093)
  // The first requests detect which brokers hang.
  for (let request = 0; request < 2; request++) await refreshTakes('t')
  for (let period = 0; period < 6; period++) {
    runtime.advance(METADATA_PERIOD_MS)
    cluster.leader('t', 0)
    for (let step = 0; step < 10; step++) await runtime.nextTurn()
    expect(await refreshTakes(`t${period}`)).toBe(0)
    // The client checks the hanging brokers one after another. Each check ends at the time limit of a request.
    for (let check = 0; check < 2; check++) {
      runtime.advance(REQUEST_TIMEOUT_MS)
      for (let step = 0; step < 10; step++) await runtime.nextTurn()
      expect(await refreshTakes(`t${period}-${check}`)).toBe(0)
    }
  }
})
