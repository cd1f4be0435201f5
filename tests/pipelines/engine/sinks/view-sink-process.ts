/**
 * A process with a view sink, for tests that kill it: `view-sink-process.ts <brokers> <redis> <topic> <view>
 * <memberId>`.
 */
import { pino } from 'pino'
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { createSink } from '../../../../pipelines/engine/sinks/sink.ts'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { viewStore } from '../../../../state/views/apply.ts'
import { connectSinkRedis } from '../../../../state/views/connect.ts'
import { jsonTopic } from './json-topic.ts'
import { loneSeat } from './lone-seat.ts'
import { valuesView } from './values-view.ts'

const [brokers, url, topicName, viewName, memberId] = process.argv.slice(2)
const log = pino({ level: 'silent' })
const transport = kafkaTransport({ brokers: [brokers], clientId: 'view-sink' }, { runtime: systemRuntime(log) })
await transport.connect()
const topics = [jsonTopic<string>(topicName, 2)]
const store = viewStore(connectSinkRedis({ url, cluster: false }, log))
const target = viewTarget({ view: valuesView(viewName), topics }, { store, runtime: systemRuntime(log) })
const name = `view-${topicName}`
const seat = loneSeat(transport, name, memberId)
await createSink({ name, topics }, { transport, registry: memoryRegistry(), target, seat, runtime: systemRuntime(log) }).run()
