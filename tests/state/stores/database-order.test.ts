import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LEVELS_TO_READ, LEVELS_TO_WRITE, sortForDatabase } from '../../../state/stores/database-order.ts'

const named = (keys: readonly string[]) => keys.map((key) => ({ key }))
const keysOf = (entries: readonly { readonly key: unknown }[]) => entries.map(({ key }) => key as string)

test('a thousand short text keys are sorted, even if they begin with the same characters', () => {
  for (const prefix of ['', 'a common prefix:']) {
    const keys = Array.from({ length: 1_000 }, (_, i) => `${prefix}${(i * 7_919) % 10_007}`)
    expect(keysOf(sortForDatabase(named(keys), LEVELS_TO_READ))).toEqual(keys.toSorted())
  }
})

test('keys with different prefixes are sorted completely', () => {
  const keys = Array.from({ length: 1_000 }, (_, i) => `${['user:u', 'device:device-', 'card:'][i % 3]}${(i * 7_919) % 10_007}`)
  expect(keysOf(sortForDatabase(named(keys), LEVELS_TO_WRITE))).toEqual(keys.toSorted())
})

test('no entry is lost, whatever its key is', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { minLength: 32, maxLength: 200 }), (keys) => {
      expect(keysOf(sortForDatabase(named(keys), LEVELS_TO_WRITE)).toSorted()).toEqual(keys.toSorted())
    }),
  )
})
