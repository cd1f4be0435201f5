import { expect, test } from 'vitest'
import { ApiError } from '../../../api/kit/errors.ts'
import { expectedVersionFrom, versionTag } from '../../../api/kit/input.ts'

test('the tag of an earlier answer is accepted in If-Match, even if a proxy has compressed the answer and made its tag weak', () => {
  expect(expectedVersionFrom(versionTag(3))).toBe(3)
  expect(expectedVersionFrom(`W/${versionTag(3)}`)).toBe(3)
  expect(expectedVersionFrom('*')).toBeUndefined()
})

test.each(['W/', 'w/"3"', '"3-gzip"', '"1", "2"', '"-1"', ''])(
  'an If-Match header with %j is refused, because it does not name exactly one version',
  (given) => {
    expect(() => expectedVersionFrom(given)).toThrow(ApiError)
  },
)
