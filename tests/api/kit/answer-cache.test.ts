import { expect, test } from 'vitest'
import { answerCache } from '../../../api/kit/answer-cache.ts'

const answer = (reusableUntil?: number) => ({ status: 200, headers: {}, body: '{}', reusableUntil })

test('an answer is kept until its reusableUntil, and an answer without reusableUntil is never kept', () => {
  const cache = answerCache()
  cache.keep('/a', '/a', answer(100))
  cache.keep('/b', '/b', answer())
  expect(cache.get('/a', 99)?.route).toBe('/a')
  expect(cache.get('/a', 100)).toBeUndefined()
  expect(cache.get('/b', 0)).toBeUndefined()
})

test('the cache keeps at most the given number of answers, because callers could otherwise fill the memory with different targets', () => {
  const cache = answerCache(2)
  for (const target of ['/1', '/2', '/1', '/3']) cache.keep(target, '/n', answer(1))
  expect(['/1', '/2', '/3'].map((target) => cache.get(target, 0) !== undefined)).toEqual([true, false, true])
})

test('no answer to a target of more than 256 characters is kept, because callers can add arbitrary parameters', () => {
  const cache = answerCache()
  const targets = [256, 257].map((length) => '/a?'.padEnd(length, 'x'))
  for (const target of targets) cache.keep(target, '/a', answer(1))
  expect(targets.map((target) => cache.get(target, 0) !== undefined)).toEqual([true, false])
})
