/**
 * A process with the view sinks of one group, for tests that kill it: `view-sinks-process.ts <brokers> <redis> <group>
 * <memberId> <topic>...`. Each view has the name of its topic.
 */
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { viewSinks } from './view-sinks.ts'

const [brokers, redis, groupId, memberId, ...topics] = process.argv.slice(2)
const transport = kafkaTransport({ brokers: [brokers], clientId: 'view-sinks' }, { runtime: systemRuntime() })
await transport.connect()
await Promise.all(viewSinks({ transport, redis, groupId, memberId, topics }).map((sink) => sink.run()))
