import { expect, test } from 'vitest'
import { hashItem, pageIn } from '../../../../state/stores/seen-set/item-hash.ts'
import { oldestLive, type SeenSetLayout, seenSetLayout, unitOf } from '../../../../state/stores/seen-set/layout.ts'
import { MAX_PAGE_ENTRIES } from '../../../../state/stores/seen-set/page.ts'

const DAY_MS = 24 * 3_600_000
const LIFETIME_MS = 30 * DAY_MS

/** Returns the sum of the error rates of all layers when their pages are full. */
function errorsOf({ layers }: SeenSetLayout): number {
  return layers.reduce((sum, { fingerprintBits }) => sum + MAX_PAGE_ENTRIES / 2 ** fingerprintBits, 0)
}

test.each([
  [1, 0.01],
  [300, 0.01],
  [5_000, 0.01],
  [50_000, 0.01],
  [50_000, 0.001],
  [2_000_000, 0.02],
  [100, 0.9],
  [40_000, 1e-6],
])('the pages have room for %i items, and full pages do not exceed an error rate of %f', (capacity, errorRate) => {
  const layout = seenSetLayout({ capacity, errorRate, lifetimeMs: LIFETIME_MS })
  expect(errorsOf(layout)).toBeLessThanOrEqual(errorRate)
  expect(layout.pages * MAX_PAGE_ENTRIES).toBeGreaterThan(capacity)
  // Page numbers have no gaps, and each item has one page in each layer.
  let next = 0
  for (const layer of layout.layers) {
    expect(layer.firstPage).toBe(next)
    next += layer.pages
    for (let i = 0; i < 100; i++) {
      const page = pageIn(layer, hashItem(Buffer.from(`item-${i}`)))
      expect(page).toBeGreaterThanOrEqual(layer.firstPage)
      expect(page).toBeLessThan(next)
    }
  }
  expect(next).toBe(layout.pages)
  expect(layout.layers[0].pages).toBe(1)
})

test('the layout of a set does not change between versions of the code', () => {
  expect(seenSetLayout({ capacity: 50_000, errorRate: 0.01, lifetimeMs: LIFETIME_MS })).toEqual({
    layers: [
      { firstPage: 0, pages: 1, fingerprintBits: 16 },
      { firstPage: 1, pages: 6, fingerprintBits: 18 },
      { firstPage: 7, pages: 36, fingerprintBits: 18 },
      { firstPage: 43, pages: 270, fingerprintBits: 18 },
    ],
    pages: 313,
    unitMs: 2_592_000,
    lifeUnits: 1_000,
    spanUnits: 98,
  })
  expect(hashItem(Buffer.from('item'))).toEqual({ place: 1_198_619_460, mark: 317_017_064 })
})

test.each([1_000, 1_001, 1_999, 123_457, DAY_MS, LIFETIME_MS])(
  'an item of a run lives at least %i ms, and at most a tenth longer',
  (lifetimeMs) => {
    const layout = seenSetLayout({ capacity: 10, errorRate: 0.01, lifetimeMs })
    const added = 1_700_000_000_123
    for (const startedBefore of [0, layout.spanUnits]) {
      const start = unitOf(layout, added) - startedBefore
      expect(oldestLive(layout, added + lifetimeMs)).toBeLessThanOrEqual(start)
      expect(oldestLive(layout, added + Math.ceil(lifetimeMs * 1.1))).toBeGreaterThan(start)
    }
  },
)

test.each([
  [{ capacity: 0 }, 'capacity must be a positive integer'],
  [{ capacity: 1.5 }, 'capacity must be a positive integer'],
  [{ capacity: 1e9 }, 'a set can have at most 65536'],
  [{ errorRate: 0 }, 'errorRate must be at least 0.000001 and below 1'],
  [{ errorRate: 1 }, 'errorRate must be at least 0.000001 and below 1'],
  [{ errorRate: 1e-6, capacity: 10_000_000 }, 'errorRate is too small for this capacity'],
  [{ lifetimeMs: 999 }, 'lifetimeMs must be an integer of at least 1000'],
  [{ lifetimeMs: Number.NaN }, 'lifetimeMs must be an integer of at least 1000'],
])('a layout with %o is refused', (wrong, message) => {
  expect(() => seenSetLayout({ capacity: 10, errorRate: 0.01, lifetimeMs: LIFETIME_MS, ...wrong })).toThrow(message)
})

test('a time that is not a number is refused', () => {
  const layout = seenSetLayout({ capacity: 10, errorRate: 0.01, lifetimeMs: LIFETIME_MS })
  expect(() => unitOf(layout, Number.NaN)).toThrow('NaN is not a time')
  expect(unitOf(layout, -1)).toBe(0)
})
