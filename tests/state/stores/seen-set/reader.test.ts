import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../../schemas/keys.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { MalformedPageError } from '../../../../state/stores/seen-set/bits.ts'
import { seenSetReader } from '../../../../state/stores/seen-set/reader.ts'
import { seenSetStore } from '../../../../state/stores/seen-set-store.ts'
import { openStore } from '../harness.ts'

const SHAPE = { capacity: 2_000, errorRate: 0.01, lifetimeMs: 10_000 }
const START = 1_000_000

const addsArbitrary = fc.array(fc.record({ item: fc.nat({ max: 400 }), after: fc.nat({ max: 60 }) }), { maxLength: 1_500, size: 'max' })

test('a reader of the pages gives the same answers as the store', () => {
  fc.assert(
    fc.property(addsArbitrary, fc.nat({ max: 12_000 }), (adds, later) => {
      const store = openStore(seenSetStore('seen', { key: utf8, item: utf8, ...SHAPE }), memoryBackend())
      const reader = seenSetReader({ item: utf8, ...SHAPE })
      let now = START
      for (const { item, after } of adds) {
        now += after
        store.add('ann', `item-${item}`, now)
      }
      now += later
      const pages = new Map(store.pages('ann').map(({ page, bytes }) => [page, bytes]))
      const all = reader.open((page) => pages.get(page), now)
      for (let i = 0; i < 600; i++) {
        const item = `item-${i}`
        const own = reader.pagesOf(item)
        const few = reader.open((page) => (own.includes(page) ? pages.get(page) : undefined), now)
        expect(all.has(item)).toBe(store.has('ann', item, now))
        expect(few.has(item)).toBe(all.has(item))
      }
    }),
    { numRuns: 20 },
  )
})

test('a page that cannot be read counts as empty if the caller passes a function for the error; otherwise, the error is thrown', () => {
  const reader = seenSetReader({ item: utf8, ...SHAPE })
  const reported: string[] = []
  const tolerant = reader.open(
    () => Buffer.from([3]),
    START,
    ({ name }) => void reported.push(name),
  )
  expect([tolerant.has('item'), new Set(reported)]).toEqual([false, new Set(['MalformedPageError'])])
  expect(() => reader.open(() => Buffer.from([3]), START).has('item')).toThrow(MalformedPageError)
})
