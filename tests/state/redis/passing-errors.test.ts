import { expect, test } from 'vitest'
import { isPassingError } from '../../../state/redis/passing-errors.ts'

const named = (name: string, message: string) => Object.assign(new Error(message), { name })

test.each([
  [new Error('connect ECONNREFUSED'), true],
  [new Error('Connection is closed.'), true],
  [named('MaxRetriesPerRequestError', 'Reached the max retries'), true],
  [named('ClusterAllFailedError', 'Failed to refresh slots cache.'), true],
  [named('ReplyError', 'LOADING Redis is loading the dataset in memory'), true],
  [named('ReplyError', 'ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:18.'), true],
  [named('ReplyError', 'WRONGTYPE Operation against a key'), false],
  [new RangeError('Invalid string length'), false],
  [new TypeError('x is not a function'), false],
])('after the error "%s", the same command may succeed later: %s', (error, isPassing) => {
  expect(isPassingError(error)).toBe(isPassing)
})
