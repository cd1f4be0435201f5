import currencies from './currencies.json' with { type: 'json' }

/**
 * Number of units per USD. Profiles store amounts as integers in these units, so that sums do not depend on the order
 * of their parts.
 */
const UNITS_PER_USD = 10_000
export const USD_PER_UNIT = 1 / UNITS_PER_USD

/**
 * Maximum amount in statistics, in USD. Larger amounts count as this amount, so that an amount fits into six bytes and
 * a sum of up to 90 amounts is exact.
 */
const MOST_USD = 1e10

const rates = new Map(Object.entries(currencies.usd_per_unit))

export function isCurrency(code: string): boolean {
  return rates.has(code)
}

/**
 * Converts an amount into units of 1/10,000 USD.
 * @param currency ISO 4217 code in upper case
 * @throws RangeError for an unknown currency; requests are checked with `isCurrency`
 */
export function unitsOf(amount: number, currency: string): number {
  const rate = rates.get(currency)
  if (rate === undefined) throw new RangeError(`${currency} is not in the table of currencies`)
  return Math.round(Math.min(amount * rate, MOST_USD) * UNITS_PER_USD)
}

export function usdOf(units: number): number {
  return units / UNITS_PER_USD
}
