import { expect, test } from 'vitest'
import { ApiError } from '../../../api/kit/errors.ts'
import { expectedVersionFrom, versionTag } from '../../../api/kit/input.ts'

test('If-Match accepts the tag of an earlier answer, even if a proxy has compressed the answer and made its tag weak', () => {
  expect(expectedVersionFrom(versionTag(3))).toBe(3)
  expect(expectedVersionFrom(`W/${versionTag(3)}`)).toBe(3)
  expect(expectedVersionFrom('*')).toBeUndefined()
})

test.each(['W/', 'w/"3"', '"3-gzip"', '"1", "2"', '"-1"', ''])('If-Match refuses %j, which names no single version', (given) => {
  expect(() => expectedVersionFrom(given)).toThrow(ApiError)
})
