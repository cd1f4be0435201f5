/**
 * A worker process that tests kill. It joins a group, opens a transaction, prints its partitions and keeps sending
 * heartbeats. It also publishes an address, and prints `asked` when a client connects to that address.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { partitionKey } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'

const [brokers, groupId, memberId, topic, transactionalId] = process.argv.slice(2)
/**
 * Size of the first record's value. The record fills a batch, so flushFull sends it, and the log contains a part of the
 * transaction when the process dies.
 */
const FULL_BATCH_BYTES = 950_000

const transport = kafkaTransport({ brokers: [brokers], clientId: 'to-be-killed' }, { runtime: systemRuntime() })
await transport.connect()
const producer = transport.producer({ transactionalId })
await producer.init()
const server = createServer((socket) => {
  socket.on('error', () => undefined).destroy()
  process.stdout.write('asked\n')
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const member = transport.groupMember({ groupId, memberId, topics: [topic], address })
await member.join()
setInterval(() => {
  const event = member.takeEvent()
  if (event?.type !== 'assignment') return
  member.acknowledge(event.partitions)
  if (event.partitions.length > 0)
    process.stdout.write(`${event.partitions.map(({ topic: name, partition }) => partitionKey(name, partition)).join(' ')}\n`)
}, 5)
const value = Buffer.alloc(FULL_BATCH_BYTES, 'x')
producer.appender(topic, 0).append(1_000, null, 0, 0, value, 0, value.length)
producer.appender(topic, 0).append(1_000, null, 0, 0, value, 0, 1)
await producer.flushFull()
process.stdout.write('open\n')
