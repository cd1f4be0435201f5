import { integer, seededRandom } from '../../../tools/random/random.ts'

const HEADER = 'TRANSACTION_ID,TX_DATETIME,CUSTOMER_ID,TERMINAL_ID,TX_AMOUNT,TX_TIME_SECONDS,TX_TIME_DAYS,TX_FRAUD,TX_FRAUD_SCENARIO'
const START = Date.UTC(2020, 0, 1)
const MINUTE_MS = 60_000
const MINUTES_PER_DAY = 1_440
const CUSTOMERS = 40
const TERMINALS = 30
const PAYMENTS_PER_DAY = 120
/** Terminals with numbers up to this one are compromised in the last 20 of every 30 days. */
const COMPROMISED = 1

/**
 * Returns payments for the given number of days, in the format of the public data set. Payments with a high amount or
 * at a compromised terminal are fraudulent.
 */
export function recordingOf(days: number): string {
  const random = seededRandom(3)
  const rows = Array.from({ length: days * PAYMENTS_PER_DAY }, (_, id) => {
    const day = Math.floor(id / PAYMENTS_PER_DAY)
    const minute = Math.floor(((id % PAYMENTS_PER_DAY) / PAYMENTS_PER_DAY) * MINUTES_PER_DAY)
    const time = new Date(START + (day * MINUTES_PER_DAY + minute) * MINUTE_MS).toISOString().slice(0, 19).replace('T', ' ')
    const terminal = integer(random, TERMINALS)
    const amount = random() < 0.01 ? 250 : 10 + random() * 100
    const scenario = amount > 220 ? 1 : terminal <= COMPROMISED && day % 30 >= 10 ? 2 : 0
    return [id, time, integer(random, CUSTOMERS), terminal, amount.toFixed(2), 0, day, Number(scenario > 0), scenario].join(',')
  })
  return `${[HEADER, ...rows].join('\n')}\n`
}
