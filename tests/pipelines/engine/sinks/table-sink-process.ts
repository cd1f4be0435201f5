/**
 * A process with a table sink, for tests that kill it: `table-sink-process.ts <brokers> <clickhouse> <database> <topic>
 * <memberId> [inserts]`. With `inserts`, the process kills itself with SIGKILL directly after that many inserts are
 * stored, before it commits the offset of the last one.
 */
import { pino } from 'pino'
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { createSink } from '../../../../pipelines/engine/sinks/sink.ts'
import { tableTarget } from '../../../../pipelines/engine/sinks/table-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { connectSinkClickhouse } from '../../../../state/tables/connect.ts'
import { type TableStore, tableStore } from '../../../../state/tables/store.ts'
import { type Event, eventsTable } from '../../../state/tables/events-table.ts'
import { jsonTopic } from './json-topic.ts'
import { loneSeat } from './lone-seat.ts'

const [brokers, url, database, topicName, memberId, dieAfter] = process.argv.slice(2)
const log = pino({ level: 'silent' })
const transport = kafkaTransport({ brokers: [brokers], clientId: 'table-sink' }, { runtime: systemRuntime(log) })
await transport.connect()
const store = tableStore(eventsTable, connectSinkClickhouse({ url, database }), { cluster: undefined })
let inserts = 0
const mortal: TableStore = {
  ...store,
  async insert(insert) {
    await store.insert(insert)
    if (++inserts === Number(dieAfter)) process.kill(process.pid, 'SIGKILL')
  },
}
const limits = { maxRecords: 200, lingerMs: 20 }
const target = await tableTarget({ table: eventsTable, limits }, mortal)
const topics = [jsonTopic<Event>(topicName, 2)]
const name = `sink-${topicName}`
const seat = loneSeat(transport, name, memberId)
await createSink({ name, topics }, { transport, registry: memoryRegistry(), target, seat, runtime: systemRuntime(log) }).run()
