import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Evaluator } from '../../../pipelines/trends/contenders.ts'
import { RegionContenders } from '../../../pipelines/trends/region-contenders.ts'
import type { Kind } from '../../../pipelines/trends/saved-standings.ts'
import { trendScore } from '../../../pipelines/trends/score.ts'
import { TextBytes } from '../../../pipelines/trends/term-table.ts'

const KEEP = 8
const ASKED = 5
/** Number of terms that are offered between two rankings: enough for the table to be replaced repeatedly. */
const OFFERED = 300
const USUAL = { before: 2, during: 2, least: 2 }

const ignored = { added() {}, floorMoved() {} }

const bound = fc.integer({ min: 1, max: 1_000 })
const ranking = fc.record({
  kind: fc.constantFrom<Kind>('fresh', 'known'),
  bounds: fc.array(bound, { minLength: OFFERED, maxLength: OFFERED }),
})

test('the best terms and their evaluations are the same after the table of terms was replaced', () => {
  fc.assert(
    fc.property(fc.array(ranking, { minLength: 2, maxLength: 8 }), (rankings) => {
      const region = new RegionContenders({ keep: KEEP, listener: ignored }, { keep: KEEP, listener: ignored })
      const { looks } = region
      const counts = { fresh: new Map<string, number>(), known: new Map<string, number>() }
      const evaluatorOf = (kind: Kind): Evaluator => ({
        evaluate(terms) {
          for (const term of terms) {
            if (looks.has(term)) continue
            const count = counts[kind].get(region.table.text(term))!
            const usual = kind === 'known' ? USUAL : undefined
            looks.set(term, { count, greatest: count, through: 0, tracked: false, usual, hasDrawn: false })
            looks.renew(term, 0)
          }
        },
        valueOf: (term) => looks.valueOf(term),
        boundOf: (term) => looks.boundOf(term),
      })
      let offered = 0
      for (const { kind, bounds } of rankings) {
        for (const count of bounds) {
          const term = `${kind} ${offered++}`
          counts[kind].set(term, count)
          region.offer(kind, new TextBytes().of(term), kind === 'known' ? trendScore(count, USUAL.least) : count)
        }
        for (const each of ['fresh', 'known'] as const) {
          const best = region[each].best(ASKED, evaluatorOf(each))!
          const expected = [...counts[each]].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, ASKED)
          expect(best.terms.map((term) => [region.table.text(term), looks.countOf(term)])).toEqual(expected)
          region.ranked(best.terms)
        }
      }
      expect(region.table.count).toBeLessThan(2 * OFFERED)
    }),
    { numRuns: 50 },
  )
})

test('offering a term again discards its evaluation', () => {
  const region = new RegionContenders({ keep: KEEP, listener: ignored }, { keep: KEEP, listener: ignored })
  const given = new TextBytes().of('term')
  region.offer('fresh', given, 1)
  const term = region.table.find(given)
  region.looks.set(term, { count: 1, greatest: 1, through: 0, tracked: false, usual: undefined, hasDrawn: true })
  region.wasTracked(given)
  expect(region.looks.isTracked(term)).toBe(true)
  region.offer('fresh', given, 2)
  expect(region.looks.has(term)).toBe(false)
})
