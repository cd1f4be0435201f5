import { expect, test } from 'vitest'
import { openCluster } from '../../../kafka/client/cluster.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import { type Connection, Reader, Writer } from '../../../kafka/client/protocol.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const TOPIC_AUTHORIZATION_FAILED = 29
const NODE = 1
const PARTITIONS = [0]
const ID = '00000000-0000-4000-8000-000000000001'

type Parser = (correlationId: number, apiKey: number, apiVersion: number, reader: Reader) => unknown
type Callback = (error: Error | null, response?: unknown) => void

/** Returns the response to a metadata request of version 12 from a broker that refuses the topic `secret`. */
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

test('a broker that refuses one topic does not keep the client from finding the leaders of other topics in the same request', async () => {
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
