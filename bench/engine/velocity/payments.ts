import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { dataSet } from '../../../scripts/data-sets.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { longRecord } from '../longs.ts'

/** Payments in columns, because allocating a million objects would take most of the generator's time. */
export interface Payments {
  readonly count: number
  readonly txId: Float64Array
  readonly card: Float64Array
  readonly terminal: Float64Array
  readonly cents: Float64Array
  /** Time of each payment, epoch ms. */
  readonly ts: Float64Array
}

/** A record of the input topic. */
export interface Payment {
  tx_id: number
  card: number
  terminal: number
  amount_cents: number
  ts: number
}

/** Origin of TX_TIME_SECONDS, 2018-04-01T00:00Z. */
const FIRST_DAY_MS = 1_522_540_800_000
const MS_PER_SECOND = 1_000
const DAY_MS = 86_400_000
const CENTS = 100
/** Seed for the random choice of cards. It is fixed, so that every benchmark run uses the same cards. */
const CARDS_SEED = 1
/** Indexes of the columns in a line of the file. */
const TX_ID = 0
const CARD = 2
const TERMINAL = 3
const AMOUNT = 4
const SECONDS = 5

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

/**
 * Reads the first payments of the real file, in file order. If the file has fewer payments than `count`, they are
 * repeated. Each repetition has new ids, and its times are shifted by the number of days that the file covers, rounded
 * up.
 */
export function readPayments(dataDir: string, count: number): Payments {
  const text = gunzipSync(readFileSync(dataSet(dataDir, 'payments'))).toString('latin1')
  const array = () => new Float64Array(count)
  const payments = { count, txId: array(), card: array(), terminal: array(), cents: array(), ts: array() }
  const { txId, card, terminal, cents, ts } = payments
  let read = 0
  for (let at = text.indexOf('\n') + 1; read < count && at < text.length; read++) {
    const end = text.indexOf('\n', at)
    const columns = text.slice(at, end < 0 ? undefined : end).split(',')
    txId[read] = Number(columns[TX_ID])
    card[read] = Number(columns[CARD])
    terminal[read] = Number(columns[TERMINAL])
    cents[read] = Math.round(Number(columns[AMOUNT]) * CENTS)
    ts[read] = FIRST_DAY_MS + Number(columns[SECONDS]) * MS_PER_SECOND
    at = end < 0 ? text.length : end + 1
  }
  const idsPerRound = txId[read - 1] + 1
  const msPerRound = Math.ceil((ts[read - 1] + 1 - FIRST_DAY_MS) / DAY_MS) * DAY_MS
  for (let i = read; i < count; i++) {
    txId[i] = txId[i - read] + idsPerRound
    card[i] = card[i - read]
    terminal[i] = terminal[i - read]
    cents[i] = cents[i - read]
    ts[i] = ts[i - read] + msPerRound
  }
  return payments
}

/**
 * Spreads payments over the cards 0 to `cards` - 1. Each of the first `cards` payments belongs to a new card. All later
 * payments belong to random cards, so that caching states does not help.
 */
export function spreadOverCards(payments: Payments, cards: number): Payments {
  const random = seededRandom(CARDS_SEED)
  return { ...payments, card: payments.card.map((_, i) => (i < cards ? i : Math.floor(random() * cards))) }
}
