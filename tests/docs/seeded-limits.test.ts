import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { seededLimits } from '../../schemas/catalogue.ts'

const WINDOWS: Readonly<Record<number, string>> = { 60: 'minute', 86400: 'day' }
const ROW = /^\| `([a-z-]+)` \| `([^`]+)` \| ([a-z, ]+) \| ([\d,]+ per [a-z]+)/gm

test('the contract of rate limits lists exactly the seeded rules, with their patterns, keys and limits', () => {
  const contract = readFileSync(join(import.meta.dirname, '../../docs/services/limits.md'), 'utf8')
  const listed = Array.from(contract.matchAll(ROW), ([, ...row]) => row)
  const seeded = seededLimits.map(({ rule_id, endpoint_pattern, key, limit_count, window_seconds }) => {
    return [rule_id, endpoint_pattern, key.join(', '), `${limit_count.toLocaleString('en')} per ${WINDOWS[window_seconds]}`]
  })
  expect(listed.toSorted()).toEqual(seeded.toSorted())
})
