import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import { fileBytes } from '../../file-bytes.ts'

/** A payment from a file, with its label. */
export interface LabelledPayment {
  readonly request: FraudRequest
  readonly isFraud: boolean
  /** The number with which the file marks the kind of fraud; 0 for a legitimate payment. */
  readonly scenario: number
}

const COLUMNS = ['TRANSACTION_ID', 'TX_DATETIME', 'CUSTOMER_ID', 'TERMINAL_ID', 'TX_AMOUNT', 'TX_FRAUD', 'TX_FRAUD_SCENARIO'] as const
const MS_PER_SECOND = 1_000
/** The replay stores a scenario in one byte. */
const MAX_SCENARIO = 255

/**
 * Reads a CSV file, optionally gzipped, with the columns of the payments data set. Rows must be ordered by time.
 * @throws Error that names the file and, if a row is wrong, its line
 */
export async function* readPayments(file: string): AsyncGenerator<LabelledPayment> {
  const input = Readable.from(fileBytes(file), { objectMode: false })
  let read: ((line: string) => LabelledPayment) | undefined
  let line = 0
  let last = Number.NEGATIVE_INFINITY
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    line++
    if (read === undefined) {
      read = rowReader(file, text)
      continue
    }
    if (text === '') continue
    const payment = read(text)
    const { request, scenario } = payment
    const { timestamp, amount } = request
    if (!Number.isFinite(timestamp) || !(amount >= 0)) throw new Error(`${file}, line ${line}: the time or the amount is invalid`)
    if (!Number.isInteger(scenario) || scenario < 0 || scenario > MAX_SCENARIO)
      throw new Error(`${file}, line ${line}: the scenario must be an integer from 0 to ${MAX_SCENARIO}`)
    if (timestamp < last) throw new Error(`${file}, line ${line}: the rows must be ordered by TX_DATETIME`)
    last = timestamp
    yield payment
  }
  if (read === undefined) throw new Error(`${file} is empty`)
}

function rowReader(file: string, header: string): (line: string) => LabelledPayment {
  const names = header.split(',')
  const missing = COLUMNS.filter((column) => !names.includes(column))
  if (missing.length > 0) throw new Error(`${file} lacks the columns ${missing.join(', ')}`)
  const [id, time, customer, terminal, amount, fraud, scenario] = COLUMNS.map((column) => names.indexOf(column))
  return (line) => {
    const cells = line.split(',')
    const request = requestOf(cells[id], timeOf(cells[time]), cells[customer], cells[terminal], Number(cells[amount]))
    return { request, isFraud: cells[fraud] === '1', scenario: Number(cells[scenario]) }
  }
}

/** Reads "2018-04-01 00:00:31" as UTC. */
function timeOf(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`)
}

function requestOf(transaction_id: string, timestamp: number, customer: string, terminal: string, amount: number): FraudRequest {
  return {
    transaction_id,
    timestamp: timestamp - (timestamp % MS_PER_SECOND),
    amount,
    currency: 'USD',
    transaction_type: 'PURCHASE',
    payer: { user_id: customer, email_hash: null, phone_hash: null, account_age_days: null, country: null },
    payee: { merchant_id: terminal, merchant_category: null, merchant_country: null },
    payment_instrument: { type: null, card_hash: null, issuer_bank: null, bin_country: null },
    device: { fingerprint_id: null, ip_address: null, user_agent: null, lat: null, lng: null },
    session: { session_id: null, login_method: null, time_since_login_sec: null },
  }
}
