import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bareAvro, enrichedSchema, type Payments } from '../../../bench/engine/payments.ts'
import { addPayment, type CardState, type Enriched, newCard } from '../../../bench/engine/velocity.ts'
import { expectedFeatures, readLongs } from '../../../bench/engine/verify.ts'
import { byteWriter } from '../../../schemas/codec.ts'

const HOUR_MS = 3_600_000
const FIELDS = 12

/** Payments of a few cards in order of time; steps of whole hours meet the windows' edges. */
const paymentsArbitrary = fc
  .array(
    fc.record({
      card: fc.integer({ min: 0, max: 3 }),
      cents: fc.integer({ min: 0, max: 100_000 }),
      step: fc.oneof(fc.constantFrom(0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS), fc.integer({ min: 0, max: 30 * HOUR_MS })),
    }),
    { maxLength: 60, size: 'max' },
  )
  .map((list): Payments => {
    let now = 1_522_540_800_000
    const ts = list.map(({ step }) => (now += step))
    return {
      count: list.length,
      txId: Float64Array.from(list, (_, i) => i),
      card: Float64Array.from(list, ({ card }) => card),
      terminal: Float64Array.from(list, (_, i) => i % 7),
      cents: Float64Array.from(list, ({ cents }) => cents),
      ts: Float64Array.from(ts),
    }
  })

test('the topology computes what the verifier expects, and the verifier reads what the codec writes', () => {
  const codec = bareAvro<Enriched>(enrichedSchema)
  const fields = new Float64Array(FIELDS)
  fc.assert(
    fc.property(paymentsArbitrary, (payments) => {
      const expected = expectedFeatures(payments)
      const cards = new Map<number, CardState>()
      for (let i = 0; i < payments.count; i++) {
        const card = cards.get(payments.card[i]) ?? newCard()
        cards.set(payments.card[i], card)
        const payment = {
          tx_id: payments.txId[i],
          card: payments.card[i],
          terminal: payments.terminal[i],
          amount_cents: payments.cents[i],
          ts: payments.ts[i],
        }
        const out = byteWriter()
        codec.encode(addPayment(card, payment), out)
        expect(readLongs(out.buffer, 0, out.length, fields)).toBe(true)
        expect([...fields]).toEqual([...expected.subarray(i * FIELDS, (i + 1) * FIELDS)])
      }
    }),
  )
})

test.each([
  ['too few', Buffer.from([2, 4])],
  ['too many', Buffer.from([2, 4, 6, 8])],
  ['an unfinished one', Buffer.from([2, 4, 0x80])],
])('%s longs are refused', (_what, bytes) => {
  expect(readLongs(bytes, 0, bytes.length, new Float64Array(3))).toBe(false)
})
