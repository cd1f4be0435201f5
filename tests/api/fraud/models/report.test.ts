import { expect, test } from 'vitest'
import { curvesOf } from '../../../../api/fraud/models/report/curves.ts'
import { stabilityIndex } from '../../../../api/fraud/models/report/drift.ts'

test('scores that separate frauds from other transactions have an AUC of 1, and equal scores have an AUC of one half', () => {
  const perfect = curvesOf([
    { score: 0.1, normal: 90, frauds: 0 },
    { score: 0.9, normal: 0, frauds: 10 },
  ])
  expect(perfect).toMatchObject({ transactions: 100, frauds: 10, auc: 1, average_precision: 1, recall_at_1pct_fpr: 1 })
  expect(perfect.roc).toEqual([{ fpr: 0, tpr: 0 }, { fpr: 0, tpr: 1 }, { fpr: 1, tpr: 1 }]) // biome-ignore format: short
  expect(curvesOf([{ score: 0.5, normal: 90, frauds: 10 }])).toMatchObject({ auc: 0.5, average_precision: 0.1, recall_at_1pct_fpr: 0 })
})

test('the AUC is the share of pairs whose scores are in the right order, and pairs with equal scores count half', () => {
  const bins = [
    { score: 0.1, normal: 5, frauds: 1 },
    { score: 0.5, normal: 3, frauds: 2 },
    { score: 0.9, normal: 2, frauds: 4 },
  ]
  let right = 0
  for (const fraud of bins)
    for (const normal of bins)
      right += fraud.frauds * normal.normal * (fraud.score > normal.score ? 1 : fraud.score === normal.score ? 0.5 : 0)
  expect(curvesOf(bins).auc).toBeCloseTo(right / 70, 12)
})

test('calibration compares mean scores with shares of frauds', () => {
  const { calibration } = curvesOf([
    { score: 0.02, normal: 9, frauds: 1 },
    { score: 0.06, normal: 10, frauds: 0 },
    { score: 1, normal: 1, frauds: 3 },
  ])
  expect(calibration).toEqual([
    { predicted: expect.closeTo(0.04, 9), observed: 0.05, count: 20 },
    { predicted: 1, observed: 0.75, count: 4 },
  ])
})

test('without frauds, there are no curves and no AUC', () => {
  expect(curvesOf([{ score: 0.5, normal: 10, frauds: 0 }])).toMatchObject({ auc: null, average_precision: null, roc: [], pr: [] })
  expect(curvesOf([])).toMatchObject({ transactions: 0, auc: null, calibration: [] })
})

test('the stability index is 0 for equal shares and grows with the difference', () => {
  expect(stabilityIndex([10, 20, 30], [100, 200, 300])).toBeCloseTo(0, 12)
  expect(stabilityIndex([50, 50], [90, 10])).toBeCloseTo(0.4 * Math.log(1.8) - 0.4 * Math.log(0.2), 12)
  expect(stabilityIndex([100, 0], [0, 100])).toBeGreaterThan(5)
  expect(stabilityIndex([0, 0], [1, 1])).toBeNull()
})
