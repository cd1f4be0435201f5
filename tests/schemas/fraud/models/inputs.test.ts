import { expect, test } from 'vitest'
import { INPUT_FIELDS, inputField, writeInputs } from '../../../../schemas/fraud/models/inputs.ts'
import { isChallengersShare } from '../../../../schemas/fraud/models/share.ts'
import { inputOf } from '../../../api/fraud/models/input.ts'

const input = inputOf({ amount: 50 })
const rich = {
  request: { ...input.request, payment_instrument: { ...input.request.payment_instrument, bin_country: 'DE' } },
  ip: { ...input.ip, geo_country: 'FR', is_tor: true },
  features: { ...input.features, user_avg_amount: 25, user_velocity_1h: 3, geo_impossible_travel: false, user_risk_tier: 'HIGH' },
}

test.each<[string, number]>([
  ['txn.amount_usd', 50],
  ['velocity.user.txn_count_1h', 3],
  ['geo.impossible_travel', 0],
  ['ip.is_tor', 1],
  ['user.risk_tier', 2],
  ['derived.amount_to_user_avg', 2],
  ['derived.card_country_is_not_ip', 1],
  ['derived.card_country_is_not_payer', Number.NaN],
  ['velocity.card.txn_count_1h', Number.NaN],
  ['derived.amount_to_merchant_avg', Number.NaN],
])('the input %s is %d', (name, expected) => {
  expect(inputField(name)!.read(rich)).toBe(expected)
})

test('an average of 0 gives no ratio', () => {
  const features = { ...rich.features, user_avg_amount: 0 }
  expect(inputField('derived.amount_to_user_avg')!.read({ ...rich, features })).toBeNaN()
})

test('texts, times and places are not inputs', () => {
  for (const name of ['txn.currency', 'payer.user_id', 'txn.timestamp', 'device.geo_location.lat']) {
    expect(inputField(name)).toBeUndefined()
  }
})

test('a row has every input at its slot', () => {
  const rows = new Float32Array(2 * INPUT_FIELDS.length)
  writeInputs(rich, rows, INPUT_FIELDS.length)
  expect(rows[0]).toBe(0)
  for (const { slot, read } of INPUT_FIELDS) expect(rows[INPUT_FIELDS.length + slot]).toBe(Math.fround(read(rich)))
})

test('the challenger gets about 5 % of the transactions, and always the same ones', () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => `transaction-${index}`)
  const share = ids.filter(isChallengersShare).length / ids.length
  expect(share).toBeGreaterThan(0.045)
  expect(share).toBeLessThan(0.055)
  expect(ids.filter(isChallengersShare)).toEqual(ids.filter(isChallengersShare))
})
