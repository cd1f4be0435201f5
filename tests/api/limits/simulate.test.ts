import fc from 'fast-check'
import { expect, test } from 'vitest'
import { simulate } from '../../../api/limits/simulate.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { turnsDuring } from '../../turns-during.ts'
import { modelOf } from './core/model.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const FROM_SECOND = NOW / 1_000 - 3_600

type Row = [second: number, client: string, tier: string, key: string, user: string, ip: string, requests: number]

/** Creates a reader that returns traffic and the number of requests left out of it, as ClickHouse would. */
function readerOf(rows: readonly Row[], leftOut = 0): TableReader {
  return {
    async query({ query }) {
      const answer = query.includes('left_out') ? [[leftOut]] : rows
      return { json: async <T>() => answer as T[] }
    },
  }
}

const byUser = (second: number, user: string, requests: number): Row => [
  FROM_SECOND + second,
  `user:${user}`,
  'free',
  '',
  user,
  '192.0.2.1',
  requests,
]

test('a replay rejects as many requests as the exact model', async () => {
  const traffic = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.constantFrom('1', '2'), fc.integer({ min: 1, max: 8 })), {
    maxLength: 40,
  })
  const limits = fc.record({
    limit_count: fc.integer({ min: 1, max: 15 }),
    window_seconds: fc.constantFrom(1, 5, 60),
    burst_allowance: fc.constantFrom(0, 0, 4),
  })
  await fc.assert(
    fc.asyncProperty(traffic, limits, async (all, limit) => {
      const rows = all.map(([second, user, requests]) => byUser(second, user, requests)).sort(([one], [other]) => one - other)
      const draft = ruleOf({ rule_id: 'draft', endpoint_pattern: '*', ...limit })
      const models = new Map<string, ReturnType<typeof modelOf>>()
      let rejected = 0
      for (const [second, client, , , , , requests] of rows) {
        const shape = { limit: limit.limit_count, windowSeconds: limit.window_seconds, burst: limit.burst_allowance }
        const model = models.get(client) ?? modelOf(shape)
        models.set(client, model)
        for (let request = 0; request < requests; request++) if (!model.request(second * 1e6)) rejected++
      }
      const found = await simulate(draft, readerOf(rows), NOW)
      expect(found).toMatchObject({ would_reject: rejected, callers: models.size, requests: rows.reduce((sum, row) => sum + row[6], 0) })
    }),
  )
})

test('the callers with the most rejections are named, and callers to whom the rule does not apply are skipped', async () => {
  const rows: Row[] = [byUser(1, '1', 5), byUser(1, '2', 9), [FROM_SECOND + 1, 'ip:192.0.2.7', 'free', '', '', '192.0.2.7', 50]]
  const draft = ruleOf({ rule_id: 'draft', endpoint_pattern: '*', key: ['user'], limit_count: 2, window_seconds: 60 })
  expect(await simulate(draft, readerOf(rows, 3), NOW)).toEqual({
    from: '2026-01-15T11:00:00.000Z',
    to: '2026-01-15T12:00:00.000Z',
    requests: 14,
    would_reject: 10,
    callers: 2,
    most_rejected: [
      { key: 'user:2', requests: 9, would_reject: 7 },
      { key: 'user:1', requests: 5, would_reject: 3 },
    ],
    left_out: 3,
    truncated: false,
  })
})

test('a rule that counts requests by address does not apply to callers with a client certificate', async () => {
  const from = (client: string): Row => [FROM_SECOND + 1, client, 'free', '', '', '192.0.2.7', 5]
  const draft = ruleOf({ rule_id: 'draft', endpoint_pattern: '*', key: ['ip'], limit_count: 2, window_seconds: 60 })
  const found = await simulate(draft, readerOf([from('certificate:gateway'), from('ip:192.0.2.7')]), NOW)
  expect(found).toMatchObject({ requests: 5, would_reject: 3 })
})

test('a replay of 20,000 requests yields to other work', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => byUser(Math.floor(index / 10), '1', 1))
  const draft = ruleOf({ rule_id: 'draft', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 })
  const { result, turns } = await turnsDuring(() => simulate(draft, readerOf(rows), NOW))
  expect(result.requests).toBe(20_000)
  expect(turns).toBeGreaterThanOrEqual(10)
})
