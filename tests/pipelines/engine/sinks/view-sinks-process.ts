/**
 * The view sinks of a worker process, in one group, to be killed:
 * `view-sinks-process.ts <brokers> <redis> <group> <memberId> <topic>...`.
 * The view of a topic has its name.
 */
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { viewSinks } from './view-sinks.ts'

const [brokers, redis, groupId, memberId, ...topics] = process.argv.slice(2)
const transport = kafkaTransport({ brokers: [brokers], clientId: 'view-sinks' }, { runtime: systemRuntime() })
await transport.connect()
await Promise.all(viewSinks({ transport, redis, groupId, memberId, topics }).map((sink) => sink.run()))
