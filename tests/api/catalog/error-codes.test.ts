import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { catalogErrors } from '../../../api/catalog/errors.ts'
import { errors } from '../../../api/kit/errors.ts'

/** The error codes in the contract, with their statuses. */
const CONTRACT: readonly (readonly [string, number])[] = [
  ['unknown_category', 400],
  ['invalid_image', 400],
  ['too_many_variants', 400],
  ['invalid_request', 400],
  ['forbidden', 403],
  ['product_not_found', 404],
  ['variant_not_found', 404],
  ['reservation_not_found', 404],
  ['out_of_stock', 409],
  ['version_conflict', 409],
  ['sku_taken', 409],
  ['reservation_ended', 409],
  ['reservation_in_cart', 409],
  ['reservation_extended', 409],
  ['status_transition', 409],
  ['price_period_overlaps', 409],
  ['content_too_large', 413],
  ['price_out_of_range', 422],
  ['unavailable', 503],
  ['not_ready', 503],
]

const tests = globSync('**/*.test.ts', { cwd: import.meta.dirname })
  .filter((file) => file !== 'error-codes.test.ts')
  .map((file) => readFileSync(`${import.meta.dirname}/${file}`, 'utf8'))

test.each(CONTRACT)('the error code %s has the status %i, and another test of the catalogue mentions it', (code, status) => {
  const known = { ...errors, ...catalogErrors }
  expect(Object.values(known).find((definition) => definition.code === code)?.status).toBe(status)
  const expected = `'${code}'`
  expect(tests.some((text) => text.includes(expected))).toBe(true)
})

test('every error code of the service is in the contract', () => {
  const named = new Set(CONTRACT.map(([code]) => code))
  expect(Object.values(catalogErrors).filter(({ code }) => !named.has(code))).toEqual([])
})
