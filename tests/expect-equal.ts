import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/**
 * Asserts that two values are equal, like `toEqual`. A test that compares hundreds of thousands of lists would spend
 * most of its time in `expect`, so this function calls `expect` only if `isDeepStrictEqual` finds a difference.
 */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected)
}
