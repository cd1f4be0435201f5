import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { compileDecoder } from '../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../schemas/avro/encoder.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { AvroSchema } from '../../schemas/topic.ts'

/** One payment, in arrays over all payments: a million objects would be the generator's only work. */
export interface Payments {
  readonly count: number
  readonly txId: Float64Array
  readonly card: Float64Array
  readonly terminal: Float64Array
  readonly cents: Float64Array
  /** Epoch ms. */
  readonly ts: Float64Array
}

/** Record of the input topic. */
export interface Payment {
  tx_id: number
  card: number
  terminal: number
  amount_cents: number
  ts: number
}

/** 2018-04-01T00:00Z, which TX_TIME_SECONDS counts from. */
const FIRST_DAY_MS = 1_522_540_800_000
const MS_PER_SECOND = 1_000
const CENTS = 100
/** Columns of the file. */
const TX_ID = 0
const CARD = 2
const TERMINAL = 3
const AMOUNT = 4
const SECONDS = 5

function longRecord(name: string, fields: readonly string[]): AvroSchema {
  return { type: 'record', name, namespace: 'millrace.bench', fields: fields.map((field) => ({ name: field, type: 'long' })) }
}

export const paymentSchema = longRecord('Payment', ['tx_id', 'card', 'terminal', 'amount_cents', 'ts'])

export const enrichedSchema = longRecord('Enriched', [
  'tx_id',
  'card',
  'terminal',
  'amount_cents',
  'ts',
  'n_1h',
  'sum_1h',
  'n_24h',
  'sum_24h',
  'n_7d',
  'sum_7d',
  'last_ts',
])

/** Avro binary without any header: what job J2 of the peers prescribes. */
export function bareAvro<T>(schema: AvroSchema): Codec<T> {
  return { encode: compileEncoder<T>(schema), decode: compileDecoder<T>(schema) }
}

/** The first payments of the real file, in its order. */
export function readPayments(dataDir: string, count: number): Payments {
  const text = gunzipSync(readFileSync(join(dataDir, 'fraud/transactions.csv.gz'))).toString('latin1')
  const array = () => new Float64Array(count)
  const payments = { count, txId: array(), card: array(), terminal: array(), cents: array(), ts: array() }
  let at = text.indexOf('\n') + 1
  for (let i = 0; i < count; i++) {
    const end = text.indexOf('\n', at)
    if (end < 0) throw new Error(`the file holds only ${i} payments, ${count} are wanted`)
    const columns = text.slice(at, end).split(',')
    payments.txId[i] = Number(columns[TX_ID])
    payments.card[i] = Number(columns[CARD])
    payments.terminal[i] = Number(columns[TERMINAL])
    payments.cents[i] = Math.round(Number(columns[AMOUNT]) * CENTS)
    payments.ts[i] = FIRST_DAY_MS + Number(columns[SECONDS]) * MS_PER_SECOND
    at = end + 1
  }
  return payments
}
