import { utf8 } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import type { Job, JobInput } from '../job.ts'
import { type Payment, type Payments, paymentSchema, readPayments, spreadOverCards } from './payments.ts'
import { velocityFeatures } from './topology.ts'
import { checkFeatures } from './verify.ts'

/** J2: computes for each payment the counts and sums of the card's earlier payments in the last hour, day and week. */
export const velocity: Job = {
  title: 'velocity features per card',
  data: 'payments',
  topology: velocityFeatures,
  input: (dataDir, count, { cards } = {}) => {
    const payments = readPayments(dataDir, count)
    return paymentsInput(cards === undefined ? payments : spreadOverCards(payments, cards))
  },
}

export function paymentsInput(payments: Payments): JobInput {
  const { txId, card, terminal, cents, ts } = payments
  const codec = bareAvro<Payment>(paymentSchema)
  return {
    count: payments.count,
    write(i, key, value) {
      utf8.encode(String(card[i]), key)
      codec.encode({ tx_id: txId[i], card: card[i], terminal: terminal[i], amount_cents: cents[i], ts: ts[i] }, value)
      return ts[i]
    },
    check: () => checkFeatures(payments),
  }
}
