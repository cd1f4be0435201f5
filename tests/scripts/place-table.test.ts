import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Region } from '../../schemas/trends/places/regions.ts'
import { placeTable } from '../../scripts/place-table.ts'

test('the table of regions has the same layout as the output of its script', () => {
  const text = readFileSync(new URL('../../schemas/trends/places/regions.json', import.meta.url), 'utf8')
  expect(placeTable(JSON.parse(text) as Region[]) === text).toBe(true)
})
