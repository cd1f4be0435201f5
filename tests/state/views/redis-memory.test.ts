import { expect, test } from 'vitest'
import { evictionFault, parseMemory, usedRatio } from '../../../state/views/redis-memory.ts'

const info = (more: Readonly<Record<string, string | number>>) =>
  [
    '# Memory',
    ...Object.entries({ total_system_memory: 4_000, used_memory: 1_000, ...more }).map(([name, value]) => `${name}:${value}`),
  ].join('\r\n')
const limited = (policy: string, used = 1_000) => parseMemory(info({ used_memory: used, maxmemory: 2_000, maxmemory_policy: policy }))
const unlimited = parseMemory(info({ maxmemory: 0, maxmemory_policy: 'allkeys-lru' }))

test('the capacity of a server is its maxmemory or, without this setting, the memory of its machine; only the fullest server counts', () => {
  expect(usedRatio([limited('noeviction')])).toBe(0.5)
  expect(usedRatio([unlimited])).toBe(0.25)
  expect(usedRatio([unlimited, limited('noeviction', 1_900), limited('noeviction')])).toBe(0.95)
  expect(usedRatio([parseMemory('')])).toBe(0)
})

test.each([
  ['noeviction', undefined],
  ['allkeys-lru', 'views'],
  ['allkeys-random', 'views'],
  ['volatile-lru', 'counters of rate limits'],
  ['volatile-ttl', 'counters of rate limits'],
])('the warning names what Redis may remove under the eviction policy %s: %s', (policy, lost) => {
  const fault = evictionFault([limited('noeviction'), limited(policy)])
  if (lost === undefined) expect(fault).toBeUndefined()
  else expect(fault).toMatch(new RegExp(`${policy}.*${lost}.*Set noeviction`))
})

test('without maxmemory, no eviction policy causes a warning', () => {
  expect(evictionFault([unlimited])).toBeUndefined()
})
