import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areProbabilities, type DecisionInput, decide } from '../../../../schemas/fraud/decision/decide.ts'
import { DEFAULT_POLICY, type ModelScores, type Policy } from '../../../../schemas/fraud/decision/policy.ts'
import type { RuleAction } from '../../../../schemas/fraud/rules/rule.ts'

/**
 * The default policy without the thresholds of single models, so that tests can check the thresholds of the weighted
 * sum alone.
 */
const POLICY: Policy = { ...DEFAULT_POLICY, alone: { account_takeover: {}, payment_fraud: {}, money_laundering: {} } }

const WITH_ALONE: Policy = {
  ...DEFAULT_POLICY,
  alone: {
    account_takeover: { medium: 0.7, high: 0.9, critical: 0.99 },
    payment_fraud: { medium: 0.7, high: 0.9, critical: 0.99 },
    money_laundering: { medium: 0.7, high: 0.9 },
  },
}

const scoresOf = (account_takeover: number, payment_fraud: number, money_laundering: number): ModelScores => ({
  account_takeover,
  payment_fraud,
  money_laundering,
})
const LOW = scoresOf(0.1, 0.1, 0.1)
const REVIEWED = scoresOf(0.7, 0.7, 0.7)
const BLOCKED = scoresOf(0.9, 0.9, 0.9)

function verdictOf(given: Partial<DecisionInput>, policy = POLICY) {
  return decide(policy, { isBlocklisted: false, action: undefined, scores: LOW, isDefaultProfile: false, amountUsd: 50, ...given })
}

test.each([
  [scoresOf(0, 0, 0), 0, 'LOW', 'APPROVE', 'no_risk_found'],
  [scoresOf(0.2, 0.4, 0.06), 299, 'LOW', 'APPROVE', 'no_risk_found'],
  [scoresOf(0.3, 0.3, 0.3), 300, 'MEDIUM', 'APPROVE', 'no_risk_found'],
  [scoresOf(0, 1, 0), 600, 'HIGH', 'REVIEW', 'models'],
  [scoresOf(1, 0, 0), 250, 'LOW', 'APPROVE', 'no_risk_found'],
  [scoresOf(0.999, 0.999, 0), 849, 'HIGH', 'REVIEW', 'models'],
  [scoresOf(1, 1, 0), 850, 'CRITICAL', 'BLOCK', 'models'],
  [scoresOf(1, 1, 1), 1_000, 'CRITICAL', 'BLOCK', 'models'],
])('the scores %j give the risk score %i, the level %s and the decision %s', (scores, risk_score, risk_level, decision, reason) => {
  expect(verdictOf({ scores })).toEqual({ risk_score, risk_level, decision, reason, requires_3ds: false })
})

test.each<[RuleAction | undefined, ModelScores | undefined, number, string, string]>([
  ['APPROVE', LOW, 100, 'APPROVE', 'rule'],
  ['APPROVE', REVIEWED, 700, 'APPROVE', 'rule'],
  ['APPROVE', BLOCKED, 900, 'REVIEW', 'rule'],
  ['REVIEW', LOW, 600, 'REVIEW', 'rule'],
  ['REVIEW', REVIEWED, 700, 'REVIEW', 'rule'],
  ['REVIEW', BLOCKED, 900, 'BLOCK', 'models'],
  ['BLOCK', LOW, 850, 'BLOCK', 'rule'],
  ['BLOCK', BLOCKED, 900, 'BLOCK', 'rule'],
  ['STEP_UP', LOW, 100, 'APPROVE', 'rule'],
  ['STEP_UP', REVIEWED, 700, 'REVIEW', 'models'],
  ['STEP_UP', BLOCKED, 900, 'BLOCK', 'models'],
  [undefined, undefined, 0, 'APPROVE', 'no_risk_found'],
  ['APPROVE', undefined, 0, 'APPROVE', 'rule'],
  ['REVIEW', undefined, 600, 'REVIEW', 'rule'],
  ['BLOCK', undefined, 850, 'BLOCK', 'rule'],
])(
  'action %s and model scores %j give the risk score %i and the decision %s because of %s',
  (action, scores, risk_score, decision, reason) => {
    expect(verdictOf({ action, scores })).toMatchObject({ risk_score, decision, reason })
  },
)

test('STEP_UP requires 3-D Secure unless the payment is blocked, and REVIEW does not', () => {
  expect(verdictOf({ action: 'STEP_UP' }).requires_3ds).toBe(true)
  expect(verdictOf({ action: 'STEP_UP', scores: REVIEWED }).requires_3ds).toBe(true)
  expect(verdictOf({ action: 'STEP_UP', scores: BLOCKED }).requires_3ds).toBe(false)
  expect(verdictOf({ action: 'REVIEW' }).requires_3ds).toBe(false)
})

test.each([
  [scoresOf(0, 0.69, 0), 414, 'APPROVE'],
  [scoresOf(0, 0.7, 0), 420, 'APPROVE'],
  [scoresOf(0.7, 0, 0), 300, 'APPROVE'],
  [scoresOf(0.9, 0, 0), 600, 'REVIEW'],
  [scoresOf(0, 0.99, 0), 850, 'BLOCK'],
  [scoresOf(0, 0, 1), 600, 'REVIEW'],
  [scoresOf(0.99, 0.99, 0.99), 990, 'BLOCK'],
])(
  'one model alone can raise the score to the level whose threshold it reaches: scores %j give the risk score %i and the decision %s',
  (scores, risk_score, decision) => {
    expect(verdictOf({ scores }, WITH_ALONE)).toMatchObject({ risk_score, decision })
  },
)

test('a blocklisted entity gives BLOCK with a score of 1000, whatever else is known', () => {
  expect(verdictOf({ isBlocklisted: true, action: 'APPROVE', scores: undefined, isDefaultProfile: true })).toEqual({
    decision: 'BLOCK',
    risk_score: 1_000,
    risk_level: 'CRITICAL',
    requires_3ds: false,
    reason: 'blocklist_hit',
  })
})

test.each<[number, RuleAction | undefined, ModelScores, string, string]>([
  [99.99, undefined, BLOCKED, 'APPROVE', 'no_risk_found'],
  [99.99, 'REVIEW', LOW, 'REVIEW', 'rule'],
  [100, undefined, BLOCKED, 'BLOCK', 'models'],
  [999.99, undefined, LOW, 'APPROVE', 'no_risk_found'],
  [1_000, undefined, LOW, 'REVIEW', 'default_profile'],
  [1_000, 'APPROVE', LOW, 'REVIEW', 'default_profile'],
  [1_000, 'APPROVE', REVIEWED, 'REVIEW', 'default_profile'],
  [1_000, 'REVIEW', LOW, 'REVIEW', 'rule'],
  [1_000, undefined, BLOCKED, 'BLOCK', 'models'],
  [Number.NaN, 'APPROVE', LOW, 'REVIEW', 'default_profile'],
])(
  'with the default profile, %f USD, action %s and model scores %j give the decision %s because of %s',
  (amountUsd, action, scores, decision, reason) => {
    expect(verdictOf({ isDefaultProfile: true, amountUsd, action, scores })).toMatchObject({ decision, reason })
  },
)

test.each([Number.NaN, -0.1, 1.1, Number.POSITIVE_INFINITY])('with a model score of %f, the models count as unavailable', (wrong) => {
  const scores = scoresOf(0.9, wrong, 0.9)
  expect(areProbabilities(scores)).toBe(false)
  expect(verdictOf({ scores })).toMatchObject({ risk_score: 0, decision: 'APPROVE' })
})

const probability = fc.double({ min: 0, max: 1, noNaN: true })
const inputs = fc.record<DecisionInput>({
  isBlocklisted: fc.boolean(),
  action: fc.constantFrom(undefined, 'APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP'),
  scores: fc.option(fc.record({ account_takeover: probability, payment_fraud: probability, money_laundering: probability }), {
    nil: undefined,
  }),
  isDefaultProfile: fc.boolean(),
  amountUsd: fc.double({ min: 0, max: 1e6, noNaN: true }),
})
const SEVERITY = ['APPROVE', 'REVIEW', 'BLOCK']

test('every risk score is an integer from 0 to 1,000, only an APPROVE rule weakens a decision, and no rule turns BLOCK into APPROVE', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const verdict = decide(DEFAULT_POLICY, input)
      expect(Number.isInteger(verdict.risk_score) && verdict.risk_score >= 0 && verdict.risk_score <= 1_000).toBe(true)
      const withoutRule = decide(DEFAULT_POLICY, { ...input, action: undefined })
      if (withoutRule.decision === 'BLOCK') expect(verdict.decision).not.toBe('APPROVE')
      if (input.action !== 'APPROVE') {
        expect(SEVERITY.indexOf(verdict.decision)).toBeGreaterThanOrEqual(SEVERITY.indexOf(withoutRule.decision))
      }
      expect(verdict.risk_score).toBeGreaterThanOrEqual(withoutRule.risk_score)
      if (input.isDefaultProfile && input.amountUsd >= 1_000) expect(verdict.decision).not.toBe('APPROVE')
    }),
    { numRuns: 2_000 },
  )
})
