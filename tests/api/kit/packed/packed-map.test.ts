import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NEVER, PackedMap } from '../../../../api/kit/packed/packed-map.ts'

/** A day in seconds. When a map copies entries, it keeps those that expired less than a day ago. */
const DAY = 86_400

const read = (view: DataView, at: number) => view.getUint32(at, true)

function bytesOf(number: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, number, true)
  return bytes
}

/** Generates hashes in one segment with few distinct first words. They cause long probe chains that wrap around. */
const hash = fc
  .tuple(fc.constantFrom(0, 1, 2, 0x7fff_ffff, -1, -2, -3), fc.integer({ min: 0, max: 12 }))
  .map(([first, second]) => Int32Array.of(first, second, 7, -1))

const change = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('set'), hash, value: fc.nat(), lifetime: fc.constantFrom(0, 0, 1, 3, 50) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete'), hash }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait'), days: fc.integer({ min: 1, max: 5 }) }) },
)
type Change = { do: string; hash?: Int32Array; value?: number; lifetime?: number; days?: number }

test('a packed map and its copy have the same contents as a Map after any sequence of changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes: readonly Change[]) => {
      const map = new PackedMap({ valueBytes: 4, canExpire: true })
      const model = new Map<string, { hash: Int32Array; value: number; expiry: number }>()
      let now = 100 * DAY
      for (const each of changes) {
        // The map treats a first word of 0 as 1, because 0 marks empty slots.
        const key = each.hash && [each.hash[0] === 0 ? 1 : each.hash[0], ...each.hash.subarray(1)].join()
        if (each.do === 'wait') now += each.days! * DAY
        else if (each.do === 'delete') {
          map.delete(each.hash!, now)
          model.delete(key!)
        } else {
          const expiry = each.lifetime === 0 ? NEVER : now + each.lifetime! * DAY
          map.set(each.hash!, bytesOf(each.value!), 0, expiry, now)
          model.set(key!, { hash: each.hash!, value: each.value!, expiry })
        }
      }
      const copy = new PackedMap(map.layout)
      for (let index = 0; index < map.segments; index++) copy.addPacked(map.packed(index) ?? Buffer.alloc(0), now)
      const live = [...model.values()].filter(({ expiry }) => expiry === NEVER || expiry > now)
      for (const { hash: key, value } of live) expect([map.get(key, now, read), copy.get(key, now, read)]).toEqual([value, value])
      expect(copy.size).toBe([...model.values()].filter(({ expiry }) => expiry === NEVER || expiry > now - DAY).length)
      expect(map.size).toBeGreaterThanOrEqual(live.length)
      for (const { hash: key, expiry } of model.values()) {
        if (expiry !== NEVER && expiry <= now) expect(map.get(key, now, read)).toBeUndefined()
      }
      const absent = Int32Array.of(5, 5, 5, -1)
      expect(map.get(absent, now, read)).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

test('an entry that seems to have expired because the clock is ahead is not lost when its segment grows or shrinks', () => {
  const map = new PackedMap({ valueBytes: 4, canExpire: true })
  const keys = Array.from({ length: 100 }, (_, index) => Int32Array.of(index * 214_013 + 1, index, index, 0))
  const [now, ahead, expiry] = [1_000, 1_000 + DAY / 2, 2_000]
  map.set(keys[0], bytesOf(7), 0, expiry, now)
  for (const key of keys.slice(1)) map.set(key, bytesOf(1), 0, NEVER, ahead)
  expect([map.get(keys[0], ahead, read), map.get(keys[0], now, read)]).toEqual([undefined, 7])
  for (const key of keys.slice(1)) map.delete(key, ahead)
  expect(map.get(keys[0], now, read)).toBe(7)
})

test('a packed map frees all its memory when its entries are deleted, including entries that have expired', () => {
  const map = new PackedMap({ valueBytes: 4, canExpire: true })
  const keys = Array.from({ length: 20_000 }, (_, index) => Int32Array.of(index * 214_013 + 1, index, index, index << 22))
  for (const [index, key] of keys.entries()) map.set(key, bytesOf(index), 0, index % 2 === 0 ? NEVER : 10, 1)
  const { bytes } = map
  expect([map.size, bytes / map.size < 60]).toEqual([20_000, true])
  for (const key of keys) map.delete(key, 2 * DAY)
  expect([map.size, map.bytes]).toEqual([0, 0])
})

test('an entry without value and expiry takes less than 33 bytes', () => {
  const map = new PackedMap({ valueBytes: 0, canExpire: false })
  for (let index = 0; index < 50_000; index++) {
    map.set(Int32Array.of(index * 214_013 + 1, 0, 0, Math.imul(index, 0x9e37_79b9)), new Uint8Array(0), 0, NEVER, 1)
  }
  expect(map.size).toBe(50_000)
  expect(map.bytes / map.size).toBeLessThan(33)
  expect(map.get(Int32Array.of(1, 0, 0, 0), 1, () => true)).toBe(true)
  expect(map.get(Int32Array.of(2, 0, 0, 0), 1, () => true)).toBeUndefined()
})
