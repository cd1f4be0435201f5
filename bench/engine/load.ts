import { partitionFor } from '../../kafka/partitioner.ts'
import type { Transport } from '../../kafka/transport.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { utf8 } from '../../schemas/keys.ts'
import { bareAvro, type Payment, type Payments, paymentSchema } from './payments.ts'
import { PARTITIONS } from './topology.ts'

/** Records between two waits for acknowledgements. */
const FLUSH_RECORDS = 50_000

/** Writes the input: keys are card numbers in decimal, placed as the Java client's partitioner does; timestamps are event times. */
export async function loadPayments(transport: Transport, topic: string, payments: Payments): Promise<void> {
  await transport.ensureTopics([{ name: topic, partitions: PARTITIONS, config: { 'retention.ms': '-1' } }])
  const producer = transport.producer({})
  await producer.init()
  const appenders = Array.from({ length: PARTITIONS }, (_, partition) => producer.appender(topic, partition))
  const codec = bareAvro<Payment>(paymentSchema)
  const key = byteWriter()
  const value = byteWriter()
  for (let i = 0; i < payments.count; i++) {
    key.length = 0
    value.length = 0
    utf8.encode(String(payments.card[i]), key)
    const ts = payments.ts[i]
    const payment = { tx_id: payments.txId[i], card: payments.card[i], terminal: payments.terminal[i], amount_cents: payments.cents[i], ts }
    codec.encode(payment, value)
    const partition = partitionFor(key.buffer.subarray(0, key.length), PARTITIONS)
    appenders[partition].append(ts, key.buffer, 0, key.length, value.buffer, 0, value.length)
    if (i % FLUSH_RECORDS === FLUSH_RECORDS - 1) await producer.commit(new Map(), undefined)
  }
  await producer.commit(new Map(), undefined)
  await producer.close()
}
