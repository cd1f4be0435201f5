import { addBatch, noClicks } from '../../pipelines/links/clicks/click-totals.ts'
import { type ClickBatch, pendingClicks } from '../../pipelines/links/clicks/pending-clicks.ts'
import { topOf } from '../../pipelines/links/clicks/tally.ts'
import { visitorHasher } from '../../pipelines/links/clicks/visitor.ts'
import { addVisitors, countVisitors, noVisitors } from '../../pipelines/links/clicks/visitors.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { weightedPick, zipfWeights } from '../../tools/random/weighted.ts'

export interface Accuracy {
  /** How many of the ten most frequent referrers are among the ten referrers in the statistics. */
  readonly topFound: number
  /** Maximum relative error of a referrer's count in the statistics. */
  readonly worstCount: number
  /** Root mean square of the relative errors of the estimates over all links, for each true number of visitors. */
  readonly visitors: readonly (readonly [count: number, error: number])[]
}

const CLICKS = 1_000_000
const CLICKS_PER_COMMIT = 5_000
const REFERRERS = 100_000
const ZIPF_EXPONENT = 1
const TOP = 10
const VISITOR_COUNTS = [2_000, 20_000, 200_000]
const LINKS = 12

/** Measures the errors of the approximate statistics: the referrers of one link, and the visitors of several links. */
export function measureAccuracy(): Accuracy {
  const { topFound, worstCount } = referrerAccuracy()
  return { topFound, worstCount, visitors: VISITOR_COUNTS.map((count) => [count, visitorError(count)] as const) }
}

function referrerAccuracy(): Pick<Accuracy, 'topFound' | 'worstCount'> {
  const random = seededRandom(7)
  const draw = weightedPick(zipfWeights(REFERRERS, ZIPF_EXPONENT))
  const truth = new Map<string, number>()
  const totals = noClicks()
  const pending = pendingClicks()
  const fold = (_code: string, batch: ClickBatch) => addBatch(totals, batch)
  const rest = { short_code: 'one', clicked_at: 0, country: 'DE', browser: 'Chrome', device: 'mobile', bot: false, visitor: '', ip: '' }
  for (let click = 1; click <= CLICKS; click++) {
    const referrer = `site-${draw(random)}`
    truth.set(referrer, (truth.get(referrer) ?? 0) + 1)
    pending.add({ ...rest, referrer })
    if (click % CLICKS_PER_COMMIT === 0) pending.drain(fold)
  }
  const best = [...truth].sort((a, b) => b[1] - a[1]).slice(0, TOP)
  const served = topOf(totals.referrers, TOP)
  const found = new Set(served.map(({ value }) => value))
  const errors = served.map(({ value, clicks }) => clicks / (truth.get(value) as number) - 1)
  return { topFound: best.filter(([value]) => found.has(value)).length, worstCount: Math.max(...errors) }
}

function visitorError(count: number): number {
  let squares = 0
  for (let link = 0; link < LINKS; link++) {
    const hashOf = visitorHasher(`link ${link}`)
    const visitors = noVisitors()
    const added = new Set<string>()
    for (let number = 0; number < count; number++) added.add(hashOf(0, String(number), ''))
    addVisitors(visitors, added)
    squares += (countVisitors(visitors).count / count - 1) ** 2
  }
  return Math.sqrt(squares / LINKS)
}
