import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { entityKey, parseEntityKey } from '../../../schemas/fraud/entity.ts'
import { hash32, hash48 } from '../../../schemas/fraud/hash.ts'

const COUNT = 200_000
const numbered = (form: (index: number) => string) => Array.from({ length: COUNT }, (_, index) => form(index))

test.each([
  ['numbers', numbered(String)],
  ['numbers with a prefix', numbered((index) => `txn-2026-01-15-${index}`)],
  ['numbers with a suffix', numbered((index) => `${index}@example.org`)],
  ['padded numbers', numbered((index) => String(index).padStart(50, '0'))],
  ['addresses', numbered((index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`)],
  ['UUIDs', numbered(() => randomUUID())],
])('hashes of %s collide as rarely as random numbers', (_what, texts) => {
  const ids = texts.map(hash48)
  expect(new Set(ids).size).toBe(COUNT)
  for (const id of ids) if (!Number.isInteger(id) || id < 0 || id >= 2 ** 48) throw new Error(`${id} is not an unsigned 48-bit integer`)
  // This many random 32-bit numbers would have about five collisions.
  expect(COUNT - new Set(texts.map(hash32)).size).toBeLessThan(25)
})

test('each of the 48 bits of a hash is set for 49 % to 51 % of the texts', () => {
  for (const bit of Array.from({ length: 48 }, (_, index) => 2 ** index)) {
    const share = numbered(String).filter((text) => Math.floor(hash48(text) / bit) % 2 === 1).length / COUNT
    expect(share).toBeGreaterThan(0.49)
    expect(share).toBeLessThan(0.51)
  }
})

test('hashes never change, because stored profiles contain them', () => {
  expect(['', 'a', 'txn-1', 'ü😀'].map(hash48)).toMatchInlineSnapshot(`
    [
      259676737573696,
      44629723393724,
      200334059383035,
      245142229359043,
    ]
  `)
})

test('profile keys preserve ids that contain colons', () => {
  expect(parseEntityKey(entityKey('ip', '2001:db8::1'))).toEqual({ kind: 'ip', id: '2001:db8::1' })
  expect(() => parseEntityKey('nobody:1')).toThrow('is not the key of a profile')
})
