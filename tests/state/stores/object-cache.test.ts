import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectCache } from '../../../state/stores/object-cache.ts'

const CAPACITY = 8

test('the cache contains all pinned entries, and the most recently used entries up to at least half of its capacity', () => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 40 }), pin: fc.boolean(), read: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const pins = new Map<number, string>()
      const cache = objectCache<number, string>(CAPACITY, (keep) => {
        for (const [key, value] of pins) keep(key, value)
      })
      let lately: number[] = []
      for (const { key, pin, read } of steps) {
        if (!read || cache.get(key) === undefined) {
          if (pin && pins.size < 5) pins.set(key, String(key))
          cache.set(key, String(key))
        }
        lately = [key, ...lately.filter((other) => other !== key)].slice(0, CAPACITY / 2)
        const held = Array.from({ length: 41 }, (_, each) => each).filter((each) => cache.peek(each) !== undefined)
        expect(held).toEqual(expect.arrayContaining([...pins.keys(), ...lately]))
        // The cache has two generations, and pinned entries do not count towards the size of either.
        expect(held.length).toBeLessThanOrEqual(CAPACITY + 2 * pins.size)
      }
    }),
  )
})

test('the cache is empty after clear', () => {
  const cache = objectCache<string, number>(CAPACITY, () => {})
  cache.set('a', 1)
  cache.clear()
  expect(cache.get('a')).toBeUndefined()
})
