import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideProduct } from '../../../pipelines/catalog/products/decide.ts'
import { nextPeriodTime, takePeriods } from '../../../pipelines/catalog/products/periods.ts'
import { placeOfVariant, variantIdOf } from '../../../schemas/catalog/ids.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type { CatalogProductCommand, CatalogProductState, SkuUse } from '../../../schemas/catalog/types.ts'
import { creation, MINUTE_MS, newPrice, newStatus, offer, replacement } from './requests.ts'

const ID = 42
const START = Date.UTC(2026, 0, 1)
const SKUS = ['a', 'b', 'c', 'd']

const cents = fc.integer({ min: 1, max: 3_000 })
const offers = fc
  .uniqueArray(fc.record({ sku: fc.constantFrom(...SKUS), price: cents }), { selector: ({ sku }) => sku, minLength: 1 })
  .map((list) => list.map(({ sku, price }) => offer(sku, price)))
const minutes = fc.integer({ min: -5, max: 30 })

/** Creates a command that a client sends at time `now`, epoch ms. */
type Request = (now: number) => CatalogProductCommand

const requests: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 3,
    arbitrary: offers.map(
      (list): Request =>
        (now) =>
          creation(now, list),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(offers, fc.boolean()).map(
      ([list, may_force]): Request =>
        (now) => {
          return replacement(list, { claimed_at: now, claimed_skus: SKUS, may_force })
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('ACTIVE', 'INACTIVE', 'DRAFT').map(
      (status): Request =>
        () =>
          newStatus(status),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 5 }), cents).map(
      ([number, price]): Request =>
        () =>
          newPrice(variantIdOf(ID, number), price),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 4 }), cents, minutes, minutes).map(
      ([number, price, from, to]): Request =>
        (now) => {
          return newPrice(variantIdOf(ID, number), price, { starts_at: now + from * MINUTE_MS, ends_at: now + to * MINUTE_MS })
        },
    ),
  },
)

const histories = fc.array(fc.record({ request: requests, waits: fc.integer({ min: 0, max: 10 }) }), { minLength: 5, maxLength: 60 })

/** Replays a history, including the timers that become due, and calls `check` after each change. */
function replay(
  history: readonly { request: Request; waits: number }[],
  check: (change: Changed) => void,
): CatalogProductState | undefined {
  let state: CatalogProductState | undefined
  let now = START
  for (const { request, waits } of history) {
    now += waits * MINUTE_MS
    for (let due = state && nextPeriodTime(state); state !== undefined && due !== undefined && due <= now; due = nextPeriodTime(state)) {
      const after = takePeriods(state, due)
      check({ before: state, after: after.state, emits: after.emits, command: undefined, now: due })
      state = after.state
    }
    const command = request(now)
    const { answer, state: after, emits = [] } = decideProduct(state, command, { key: String(ID), now })
    if (after == null) {
      expect(emits).toEqual([])
      continue
    }
    expect(answer.outcome).toBe('done')
    check({ before: state, after, emits, command, now })
    state = after
  }
  return state
}

interface Changed {
  readonly before: CatalogProductState | undefined
  readonly after: CatalogProductState
  readonly emits: NonNullable<ReturnType<typeof decideProduct>['emits']>
  readonly command: CatalogProductCommand | undefined
  readonly now: number
}

test('variants keep their ids and skus forever, and revisions grow by one', () => {
  fc.assert(
    fc.property(histories, (history) => {
      replay(history, ({ before, after }) => {
        const { variants, revision } = after.product
        expect(revision).toBe((before?.product.revision ?? 0) + 1)
        expect(variants.map(({ variant_id }) => placeOfVariant(variant_id))).toEqual(
          variants.map((_, i) => ({ productId: ID, number: i + 1 })),
        )
        expect(new Set(variants.map(({ sku }) => sku)).size).toBe(variants.length)
        for (const [i, { sku }] of (before?.product.variants ?? []).entries()) expect(variants[i].sku).toBe(sku)
        expect(after.pricing).toHaveLength(variants.length)
      })
    }),
  )
})

test('every price that was not forced is at least half the lowest and at most one and a half times the highest earlier price', () => {
  fc.assert(
    fc.property(histories, (history) => {
      replay(history, ({ before, after, command }) => {
        for (const [i, { price_cents }] of after.product.variants.entries()) {
          const { lowest_cents, highest_cents } = after.pricing[i]
          expect(price_cents).toBeGreaterThanOrEqual(lowest_cents)
          expect(price_cents).toBeLessThanOrEqual(highest_cents)
          const earlier = before?.pricing[i]
          if (earlier === undefined || command?.may_force === true) continue
          expect(2 * lowest_cents).toBeGreaterThanOrEqual(earlier.lowest_cents)
          expect(2 * highest_cents).toBeLessThanOrEqual(3 * earlier.highest_cents)
        }
      })
    }),
  )
})

test("a variant's periods never overlap, its price during a period is the period's price, and the next timer is in the future", () => {
  fc.assert(
    fc.property(histories, (history) => {
      replay(history, ({ after, now }) => {
        for (const [i, { periods, regular }] of after.pricing.entries()) {
          for (const [k, { starts_at, ends_at }] of periods.entries()) {
            expect(starts_at).toBeLessThan(ends_at)
            if (k > 0) expect(periods[k - 1].ends_at).toBeLessThanOrEqual(starts_at)
          }
          if (regular !== null) expect(after.product.variants[i].price_cents).toBe(periods[0].price_cents)
        }
        const next = nextPeriodTime(after)
        if (next !== undefined) expect(next).toBeGreaterThan(now)
      })
    }),
  )
})

test('once all periods of a variant are over, the variant has its regular price again, however the periods were planned', () => {
  fc.assert(
    fc.property(
      offers,
      fc.array(fc.tuple(cents, fc.integer({ min: 0, max: 50 }), fc.integer({ min: 1, max: 20 })), { maxLength: 20 }),
      (list, asked) => {
        const history = [
          { request: (now: number) => creation(now, list), waits: 0 },
          ...asked.map(([price, from, length]) => ({
            request: (now: number) =>
              newPrice(variantIdOf(ID, 1), price, { starts_at: now + from * MINUTE_MS, ends_at: now + (from + length) * MINUTE_MS }),
            waits: 0,
          })),
          { request: () => newStatus('ACTIVE'), waits: 10_000 },
        ]
        const last = replay(history, () => undefined)
        expect(last?.product.variants[0].price_cents).toBe(list[0].price_cents)
        expect(last?.pricing[0].periods).toEqual([])
      },
    ),
  )
})

test('the emitted records about skus, applied in order, give the skus that the product uses', () => {
  fc.assert(
    fc.property(histories, fc.boolean(), (history, deletes) => {
      const used = new Set<string>()
      const all = deletes ? [...history, { request: () => newStatus('DELETED'), waits: 0 }] : history
      const last = replay(all, ({ emits }) => {
        for (const { topic, key, value } of emits) {
          if (topic !== skuUses) continue
          if ((value as SkuUse).is_used) used.add(key as string)
          else used.delete(key as string)
        }
      })
      const { product } = last ?? {}
      const expected = product === undefined || product.status === 'DELETED' ? [] : product.variants.map(({ sku }) => sku)
      expect([...used].sort()).toEqual(expected.sort())
    }),
  )
})
