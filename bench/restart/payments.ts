import { byteWriter } from '../../schemas/codec.ts'
import { bareAvro } from '../engine/bare-avro.ts'
import { readLongs } from '../engine/longs.ts'
import { enrichedSchema, type Payment, paymentSchema } from '../engine/velocity/payments.ts'
import type { LoadFormat } from './load.ts'

/** Smallest id of a payment whose latency is measured. Payments with smaller ids only create the state of the cards. */
const FIRST_TIMED = 1_000_000_000
const FIELDS = (enrichedSchema as { fields: readonly unknown[] }).fields.length

/** Creates the format of job J2. Each partition has its own cards. */
export function paymentFormat(partitions: number): LoadFormat {
  const codec = bareAvro<Payment>(paymentSchema)
  const fields = new Float64Array(FIELDS)

  function payment(tx_id: number, number: number, partition: number) {
    const card = number * partitions + partition
    const out = byteWriter()
    codec.encode({ tx_id, card, terminal: 1, amount_cents: 100, ts: Date.now() }, out)
    return { key: Buffer.from(String(card)), value: Buffer.from(out.buffer.subarray(0, out.length)) }
  }

  return {
    first: (number, partition) => payment(number, number, partition),
    timed: (sequence, number, partition) => payment(FIRST_TIMED + sequence, number, partition),
    sequenceOf(buffer, valueStart, valueEnd) {
      if (!readLongs(buffer, valueStart, valueEnd, fields)) throw new Error(`a result does not contain ${FIELDS} longs`)
      return fields[0] < FIRST_TIMED ? undefined : fields[0] - FIRST_TIMED
    },
    // Peers partition their results by a hash of the card, so the results of an input partition are in several output
    // partitions.
    ordered: false,
  }
}
