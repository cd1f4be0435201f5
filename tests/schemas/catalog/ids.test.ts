import { expect, test } from 'vitest'
import {
  isProductId,
  MOST_VARIANT_NUMBER,
  parseProductId,
  parseVariantId,
  placeOfVariant,
  productIdOf,
  variantIdOf,
} from '../../../schemas/catalog/ids.ts'

const LARGEST_PRODUCT = 2 ** 45 - 1

test('a command and an attempt determine an id of 45 bits, and different attempts give different ids', () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => productIdOf(`command-${i}`, i % 3))
  expect(ids.every(isProductId)).toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
  // The ids also use the highest bit.
  expect(Math.max(...ids)).toBeGreaterThan(2 ** 44)
  expect(productIdOf('c', 0)).toBe(productIdOf('c', 0))
  expect(productIdOf('c', 0)).not.toBe(productIdOf('c', 1))
})

test.each([1, 7, 123_456_789, LARGEST_PRODUCT])(
  'the product id and the variant number can be read from each variant id of product %d',
  (productId) => {
    for (const number of [1, 2, MOST_VARIANT_NUMBER]) {
      const id = variantIdOf(productId, number)
      expect(Number.isSafeInteger(id)).toBe(true)
      expect(placeOfVariant(id)).toEqual({ productId, number })
      expect(parseVariantId(String(id))).toBe(id)
    }
  },
)

test('numbers that no variant or product can have are refused', () => {
  for (const number of [0, 256, 1.5, -1, Number.NaN]) expect(() => variantIdOf(7, number)).toThrow(RangeError)
  for (const product of [0, 2 ** 45, 1.5, -1, Number.NaN]) expect(() => variantIdOf(product, 1)).toThrow(RangeError)
  // These ids are invalid: the variant number is zero, the product is missing, or the id is not an integer of 1 to 53
  // bits.
  for (const id of [256, 7 * 256, 255, 0, -1, 2 ** 53 + 2, 1.5]) expect(placeOfVariant(id)).toBeUndefined()
})

test('ids are read only from their shortest decimal form', () => {
  expect(parseProductId('42')).toBe(42)
  for (const text of ['', '0', '042', '+1', '1.0', '1e3', ' 1', String(2 ** 45), '99999999999999999']) {
    expect(parseProductId(text)).toBeUndefined()
  }
  for (const text of ['1', '256', '0257', String(2 ** 53 + 2)]) expect(parseVariantId(text)).toBeUndefined()
})
