import type { Field } from '../rules/field.ts'
import { FIELDS } from '../rules/fields.ts'
import { valueReader } from '../rules/read-facts.ts'
import type { FraudFeatures, FraudIpFacts, FraudRequest } from '../types.ts'

/** The data from which the inputs of models are computed. */
export interface ModelInput {
  readonly request: FraudRequest
  readonly ip: FraudIpFacts
  readonly features: FraudFeatures
}

/** A number that a model can read. */
export interface InputField {
  readonly name: string
  /** The index of the input's value in a row of all inputs. */
  readonly slot: number
  /** Returns NaN if the value is missing. */
  read(input: ModelInput): number
}

/**
 * Fields that models must not use. A model would memorise individual times and places, and amounts in different
 * currencies cannot be compared.
 */
const NOT_FOR_MODELS = new Set([
  'txn.timestamp',
  'txn.amount',
  'device.geo_location.lat',
  'device.geo_location.lng',
  'device.first_seen',
  'user.last_txn_ts',
])

const TIERS = ['NORMAL', 'ELEVATED', 'HIGH']

/** Inputs that rules can compute with operators, but decision trees cannot. */
const DERIVED: Readonly<Record<string, (input: ModelInput) => number>> = {
  'derived.amount_to_user_avg': ({ features }) => ratio(features.amount_usd, features.user_avg_amount),
  'derived.amount_to_merchant_avg': ({ features }) => ratio(features.amount_usd, features.merchant_avg_amount_30d),
  'derived.sum_24h_to_user_avg': ({ features }) => ratio(features.user_sum_24h, features.user_avg_amount),
  'derived.merchant_frauds_7d': ({ features }) => product(features.merchant_fraud_rate_7d, features.merchant_txn_count_7d),
  'derived.merchant_frauds_30d': ({ features }) => product(features.merchant_fraud_rate_30d, features.merchant_txn_count_30d),
  'derived.user_fraud_share': ({ features }) => ratio(features.user_fraud_history_count, features.user_txn_count),
  'derived.card_country_is_not_ip': ({ request, ip }) => differ(request.payment_instrument.bin_country, ip.geo_country),
  'derived.card_country_is_not_payer': ({ request }) => differ(request.payment_instrument.bin_country, request.payer.country),
}

/**
 * All inputs that models can read, in the order of the slots: first the fields of rules that are numbers, booleans or
 * tiers, except for `NOT_FOR_MODELS`, and then the derived inputs. A manifest names the inputs of its model.
 */
export const INPUT_FIELDS: readonly InputField[] = [
  ...FIELDS.filter(({ type, name }) => ['number', 'boolean', 'tier'].includes(type) && !NOT_FOR_MODELS.has(name)).map(ofRules),
  ...Object.entries(DERIVED).map(([name, read]) => ({ name, read })),
].map((field, slot) => ({ ...field, slot }))

const byName = new Map(INPUT_FIELDS.map((field) => [field.name, field]))

export function inputField(name: string): InputField | undefined {
  return byName.get(name)
}

/**
 * Writes all inputs of a transaction into a row.
 * @param from the position in `rows` at which the row begins
 */
export function writeInputs(input: ModelInput, rows: Float32Array, from: number): void {
  for (let slot = 0; slot < INPUT_FIELDS.length; slot++) rows[from + slot] = INPUT_FIELDS[slot].read(input)
}

function ofRules(field: Field): Omit<InputField, 'slot'> {
  const read = valueReader(field)
  return { name: field.name, read: (input) => numberOf(read(input)) }
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value === undefined) return Number.NaN
  const tier = TIERS.indexOf(value as string)
  return tier === -1 ? Number.NaN : tier
}

function ratio(one: number | null, other: number | null): number {
  return one === null || other === null || other === 0 ? Number.NaN : one / other
}

function product(one: number | null, other: number | null): number {
  return one === null || other === null ? Number.NaN : one * other
}

function differ(one: string | null, other: string | null): number {
  return one === null || other === null ? Number.NaN : Number(one !== other)
}
