import { expect, test } from 'vitest'
import { DEFAULT_POLICY, type Policy, policyFaults } from '../../../../schemas/fraud/decision/policy.ts'

test('the default policy has no faults', () => {
  expect(policyFaults(DEFAULT_POLICY)).toEqual([])
})

const { weights, levels } = DEFAULT_POLICY

test.each<[Partial<Policy>, string]>([
  [{ version: -1 }, 'version must be an integer of at least 0.'],
  [{ version: 0.5 }, 'version must be an integer of at least 0.'],
  [{ weights: { ...weights, payment_fraud: 0.61 } }, 'weights must sum to 1.'],
  [{ weights: { account_takeover: -0.25, payment_fraud: 1.1, money_laundering: 0.15 } }, 'weights must not be negative.'],
  [{ levels: { ...levels, medium: 700 } }, 'levels must satisfy 0 ≤ medium ≤ high ≤ critical ≤ 1000.'],
  [{ thresholds: { review: 900, block: 800 } }, 'thresholds must satisfy 0 ≤ review ≤ block ≤ 1000.'],
  [{ thresholds: { review: 600, block: Number.NaN } }, 'thresholds must satisfy 0 ≤ review ≤ block ≤ 1000.'],
  [{ floors: { review: 600, block: 1_001 } }, 'floors must satisfy 0 ≤ review ≤ block ≤ 1000.'],
  [
    { alone: { ...DEFAULT_POLICY.alone, payment_fraud: { high: 0.9, critical: 0.8 } } },
    'alone.payment_fraud must satisfy 0 ≤ medium ≤ high ≤ critical ≤ 1.',
  ],
  [
    { default_profile: { rules_only_below: 2_000, review_from: 1_000 } },
    'default_profile must satisfy 0 ≤ rules_only_below ≤ review_from.',
  ],
])('%j is refused: %s', (change, fault) => {
  expect(policyFaults({ ...DEFAULT_POLICY, ...change })).toEqual([fault])
})
