import { expect, test } from 'vitest'
import { missingSchemas } from '../../../pipelines/engine/missing-schemas.ts'

test('a schema id that was not found counts as missing for half a minute', () => {
  let now = 0
  const missing = missingSchemas(() => now)
  missing.add(7)
  now = 29_999
  expect([missing.has(7), missing.has(8)]).toEqual([true, false])
  now = 30_000
  expect(missing.has(7)).toBe(false)
})

test('at most 10,000 missing ids are kept, and the newest id is always among them', () => {
  const missing = missingSchemas(() => 0)
  const ids = Array.from({ length: 50_000 }, (_, id) => id)
  const areKept = ids.map((id) => {
    missing.add(id)
    return missing.has(id)
  })
  expect(areKept).not.toContain(false)
  expect(ids.filter(missing.has).length).toBeLessThanOrEqual(10_000)
})
