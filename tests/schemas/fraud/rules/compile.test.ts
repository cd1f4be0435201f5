import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { factsOf } from '../../../../schemas/fraud/rules/facts.ts'
import type { Truth } from '../../../../schemas/fraud/rules/truth.ts'

/** The facts of the tests. All other fields are missing, for example payer.account_age_days and ip.is_vpn. */
const FACTS = factsOf({
  'txn.amount': 100,
  'velocity.user.txn_count_1h': 0,
  'payer.country': 'DE',
  'payee.merchant_category': 'Books',
  'ip.is_tor': false,
  'geo.impossible_travel': true,
})
const LISTS = new Map([['shops', new Set(['books', 'Books'])]])

function compiled(text: string) {
  const result = compileCondition(text)
  if (!result.ok) throw new Error(`${text}: ${result.faults.map(({ message }) => message).join(' ')}`)
  return result.condition
}

const MISSING: Truth = undefined

test.each([
  ['txn.amount > 99', true],
  ['txn.amount > 100', false],
  ['txn.amount >= 100 AND txn.amount <= 100', true],
  ['txn.amount = 1e2', true],
  ['txn.amount != 100', false],
  ['-txn.amount < -99', true],
  ['txn.amount * 2 + 1 = 201', true],
  ['txn.amount % 7 = 2', true],
  ['abs(txn.amount - 150) = 50', true],
  ['txn.amount BETWEEN 100 AND 100', true],
  ['txn.amount NOT BETWEEN 1 AND 99', true],
  ['txn.amount IN (1, -100, 100)', true],
  ['txn.amount IN (txn.amount + 1, 50 * 2)', true],
  ["payer.country IN ('FR', 'DE')", true],
  ["payer.country NOT IN ('FR', 'DE')", false],
  ["payee.merchant_category = 'books'", false],
  ["lower(payee.merchant_category) = 'books'", true],
  ["contains(payee.merchant_category, 'ook')", true],
  ["startsWith(payee.merchant_category, 'B') AND endsWith(payee.merchant_category, 's')", true],
  ["inList('shops', payee.merchant_category)", true],
  ["inList('shops', payer.country)", false],
  ['ip.is_tor', false],
  ['NOT ip.is_tor', true],
  ['ip.is_tor = FALSE', true],
  ['(txn.amount > 1) = geo.impossible_travel', true],
  ['TRUE', true],

  ['payer.account_age_days < 7', MISSING],
  ['payer.account_age_days >= 7', MISSING],
  ['payer.account_age_days = payer.account_age_days', MISSING],
  ['payer.account_age_days != 7', MISSING],
  ['NOT payer.account_age_days < 7', MISSING],
  ['payer.account_age_days IN (1, 2)', MISSING],
  ['payer.account_age_days NOT IN (1, 2)', MISSING],
  ['payer.account_age_days BETWEEN 1 AND 2', MISSING],
  ['ip.is_vpn', MISSING],
  ['NOT ip.is_vpn', MISSING],
  ['payment.bin_country != payer.country', MISSING],
  ["inList('shops', payment.issuer_bank)", MISSING],
  ["inList('absent', payer.country)", MISSING],
  ["NOT inList('absent', payer.country)", MISSING],
  ['txn.amount / velocity.user.txn_count_1h > 1', MISSING],
  ['txn.amount % 0 = 0', MISSING],
  ['0 / 0 = 0', MISSING],
  ['1e308 * 10 > 1', MISSING],
  ['abs(payer.account_age_days) > 1', MISSING],

  ['ip.is_vpn AND txn.amount > 500', false],
  ['ip.is_vpn AND txn.amount > 5', MISSING],
  ['ip.is_vpn OR txn.amount > 5', true],
  ['ip.is_vpn OR txn.amount > 500', MISSING],
  ['txn.amount BETWEEN 200 AND payer.account_age_days', false],
  ['txn.amount BETWEEN 50 AND payer.account_age_days', MISSING],
  ['txn.amount IN (payer.account_age_days, 100)', true],
  ['txn.amount IN (payer.account_age_days, 101)', MISSING],

  ['ip.is_vpn IS MISSING', true],
  ['ip.is_vpn IS NOT MISSING', false],
  ['txn.amount IS MISSING', false],
  ['payment.issuer_bank IS MISSING', true],
  ['(txn.amount / 0) IS MISSING', true],
  ['(ip.is_vpn OR ip.is_tor) IS MISSING', true],
])('the condition %s evaluates to %s', (text, expected) => {
  expect(compiled(text).evaluate(FACTS, LISTS)).toBe(expected)
})

test('a condition reports all its lists, and the fields and lists whose absence can make its value missing', () => {
  const { needs, neededLists, lists } = compiled(
    "txn.amount > 1 AND features.user_velocity_1h > 1 AND user.txn_count_1h > 1 AND ip.is_tor IS MISSING AND inList('shops', payer.country) AND NOT inList('places', ip.geo_country) IS MISSING",
  )
  expect(needs.map(({ name }) => name)).toEqual(['txn.amount', 'velocity.user.txn_count_1h', 'payer.country'])
  expect(neededLists).toEqual(['shops'])
  expect(lists).toEqual(['shops', 'places'])
})
