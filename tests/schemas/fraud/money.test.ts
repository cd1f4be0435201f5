import { expect, test } from 'vitest'
import currencies from '../../../schemas/fraud/currencies.json' with { type: 'json' }
import { isCurrency, unitsOf, usdOf } from '../../../schemas/fraud/money.ts'

/** ISO codes that are not used for payments: metals, bonds, units of account, test codes and "no currency". */
const NO_MONEY = new Set(['XAG', 'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XPD', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX'])

test('the table contains more than 150 currencies, all with codes of three letters, and no metals, bonds or test codes', () => {
  const codes = Object.keys(currencies.usd_per_unit)
  for (const code of codes) expect(code).toMatch(/^[A-Z]{3}$/)
  expect(codes.length).toBeGreaterThan(150)
  for (const code of ['USD', 'EUR', 'JPY', 'GBP', 'CNY', 'INR', 'BRL', 'KWD', 'XOF', 'ZWG', 'VES', 'SLE'])
    expect(isCurrency(code)).toBe(true)
  for (const code of [...NO_MONEY, 'DEM', 'usd', '', 'constructor', 'toString']) expect(isCurrency(code)).toBe(false)
  for (const rate of Object.values(currencies.usd_per_unit)) expect(rate).toBeGreaterThan(0)
})

test.each([
  [0, 'USD', 0],
  [12.34, 'USD', 123_400],
  [0.1 + 0.2, 'USD', 3_000],
  [0.00004, 'USD', 0],
  [1_000, 'JPY', 68_000],
  [1e10, 'USD', 1e14],
  [1e300, 'USD', 1e14],
])('%d %s are %d units of 1/10,000 USD', (amount, currency, units) => {
  expect(unitsOf(amount, currency)).toBe(units)
  expect(usdOf(units)).toBe(units / 10_000)
})

test('an unknown currency causes an error', () => {
  expect(() => unitsOf(1, 'XXX')).toThrow(RangeError)
})
