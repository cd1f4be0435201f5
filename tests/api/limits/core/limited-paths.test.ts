import { expect, test } from 'vitest'
import { limitedPaths } from '../../../../api/limits/core/limited-paths.ts'

const paths = limitedPaths(['/api/v1/*', '/stack/next', '/api/v1/*'])

test('only the paths that a service declares as limited are covered', () => {
  const asked = ['/api/v1/', '/api/v1/a/b', '/stack/next', '/api/v1', '/stack/next/', '/stack', '/', '/v1/trends']
  expect(asked.map((path) => paths.covers(path))).toEqual([true, true, true, false, false, false, false, false])
  expect(limitedPaths([]).covers('/')).toBe(false)
  expect(limitedPaths(['*']).covers('/anything')).toBe(true)
})

test('a rule can apply to a service if some path matches the rule and is limited by the service', () => {
  const applying = ['*', 'GET *', '/*', '/api/*', '/api/v1/*', 'POST /api/v1/urls', '/api/v1/urls/*', '/stack/*', 'PUT /stack/next']
  for (const pattern of applying) expect([pattern, paths.canApply(pattern)]).toEqual([pattern, true])
  for (const pattern of ['/v2/*', '/api/v1', '/stack/next/*', 'GET /cart', 'no pattern']) {
    expect([pattern, paths.canApply(pattern)]).toEqual([pattern, false])
  }
  expect(limitedPaths([]).canApply('*')).toBe(false)
})

test('an invalid path pattern is refused with an error that names it', () => {
  expect(() => limitedPaths(['stack'])).toThrow('stack must be a path pattern without a method')
  expect(() => limitedPaths(['GET /stack'])).toThrow('GET /stack must be a path pattern without a method')
})
