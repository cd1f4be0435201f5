/**
 * A process with a delivering sink, for tests that kill it: `delivery-process.ts <brokers> <topic> <member id> <url>
 * <time limit of a request, ms>`.
 */
import { pino } from 'pino'
import { kafkaTransport } from '../../../../../kafka/client/index.ts'
import { memoryRegistry } from '../../../../../kafka/memory/registry.ts'
import { httpSender } from '../../../../../pipelines/engine/sinks/deliveries/http-sender.ts'
import { createSink } from '../../../../../pipelines/engine/sinks/sink.ts'
import { systemRuntime } from '../../../../../runtime/system.ts'
import { jsonTopic } from '../json-topic.ts'
import { loneSeat } from '../lone-seat.ts'

const CONNECTIONS = 16
const [brokers, topicName, memberId, url, timeoutMs] = process.argv.slice(2)
const runtime = systemRuntime(pino({ level: process.env.KAFKA_TEST_LOG ?? 'silent' }))
const transport = kafkaTransport({ brokers: [brokers], clientId: 'deliveries' }, { runtime })
await transport.connect()
const sender = httpSender({ url: new URL(url), connections: CONNECTIONS, timeoutMs: Number(timeoutMs) }, runtime)
const target = {
  name: 'receiver',
  concurrency: CONNECTIONS,
  deliver: ({ key }: { key: unknown }) => sender.send({ headers: { 'idempotency-key': String(key) }, body: '{}' }),
}
const name = `deliver-${topicName}`
const seat = loneSeat(transport, name, memberId)
const sink = createSink({ name, topics: [jsonTopic(topicName, 1)] }, { transport, registry: memoryRegistry(), target, seat, runtime })
await sink.run()
