/**
 * A bin of a histogram of scores, with the numbers of transactions in the bin. All bins have the same width, and bins
 * with lower scores come first.
 */
export interface ScoreBin {
  /** Mean score. */
  readonly score: number
  readonly normal: number
  readonly frauds: number
}

/** How well scores separate fraud from normal transactions. Rates are shares from 0 to 1. */
export interface Curves {
  readonly transactions: number
  readonly frauds: number
  /** This value and the next two are null if there are no fraudulent or no normal transactions. */
  readonly auc: number | null
  readonly average_precision: number | null
  readonly recall_at_1pct_fpr: number | null
  readonly roc: readonly { readonly fpr: number; readonly tpr: number }[]
  readonly pr: readonly { readonly recall: number; readonly precision: number }[]
  readonly calibration: readonly { readonly predicted: number; readonly observed: number; readonly count: number }[]
}

const FALSE_POSITIVES = 0.01
const CALIBRATION_BINS = 10

/** Computes the curves from a histogram. All transactions in a bin are treated as if they had the same score. */
export function curvesOf(bins: readonly ScoreBin[]): Curves {
  const normal = sum(bins, (bin) => bin.normal)
  const frauds = sum(bins, (bin) => bin.frauds)
  const isJudged = normal > 0 && frauds > 0
  const roc = [{ fpr: 0, tpr: 0 }]
  const pr: { recall: number; precision: number }[] = []
  let auc = 0
  let averagePrecision = 0
  let recall = 0
  let above = { normal: 0, frauds: 0 }
  for (const bin of isJudged ? bins.toReversed() : []) {
    above = { normal: above.normal + bin.normal, frauds: above.frauds + bin.frauds }
    if (bin.normal + bin.frauds === 0) continue
    const point = { fpr: above.normal / normal, tpr: above.frauds / frauds }
    const last = roc[roc.length - 1]
    const precision = above.frauds / (above.frauds + above.normal)
    auc += ((point.fpr - last.fpr) * (point.tpr + last.tpr)) / 2
    averagePrecision += (point.tpr - last.tpr) * precision
    if (point.fpr <= FALSE_POSITIVES) recall = point.tpr
    roc.push(point)
    pr.push({ recall: point.tpr, precision })
  }
  return {
    transactions: normal + frauds,
    frauds,
    auc: isJudged ? auc : null,
    average_precision: isJudged ? averagePrecision : null,
    recall_at_1pct_fpr: isJudged ? recall : null,
    roc: isJudged ? roc : [],
    pr,
    calibration: calibrationOf(bins),
  }
}

function calibrationOf(bins: readonly ScoreBin[]): Curves['calibration'] {
  return Array.from({ length: CALIBRATION_BINS }, (_, index) => {
    const own = bins.filter(({ score }) => Math.min(CALIBRATION_BINS - 1, Math.floor(score * CALIBRATION_BINS)) === index)
    const count = sum(own, ({ normal, frauds }) => normal + frauds)
    const predicted = sum(own, ({ score, normal, frauds }) => score * (normal + frauds)) / count
    return { predicted, observed: sum(own, ({ frauds }) => frauds) / count, count }
  }).filter(({ count }) => count > 0)
}

function sum(bins: readonly ScoreBin[], value: (bin: ScoreBin) => number): number {
  return bins.reduce((total, bin) => total + value(bin), 0)
}
