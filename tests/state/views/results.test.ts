import fc from 'fast-check'
import { expect, test } from 'vitest'
import { resultKey } from '../../../schemas/commands/topics.ts'
import type { CommandResult } from '../../../schemas/commands/types.ts'
import type { Link } from '../../../schemas/links/types.ts'
import { linksView, parseLink, storedLink } from '../../../state/views/links/links.ts'
import { decisionView, parseResultMessage, readResult } from '../../../state/views/results.ts'
import { fakeRedis } from './fake-redis.ts'

const NOW = 1_800_000_000_000
const PARTITION = 2
const view = decisionView(linksView, () => NOW)

const resultOf = (fields: Partial<CommandResult> = {}): CommandResult => ({
  command_id: 'id',
  reply_to: 'api-1',
  request_hash: 'hash',
  outcome: 'decided',
  decided_at: NOW,
  answer: '{}',
  ...fields,
})
const operations = (result: CommandResult) => view.operationsFor(PARTITION, resultKey(7), { view: null, result })

test('a result is stored and published, and every answer reads back unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), async (answer) => {
      const redis = fakeRedis()
      redis.apply(operations(resultOf({ answer })))
      expect(await readResult(redis.reader, 'links', PARTITION, 'id')).toEqual({ requestHash: 'hash', answer })
      expect(redis.published).toHaveLength(1)
      expect(redis.published[0].channel).toBe('results:api-1')
      expect(parseResultMessage(redis.published[0].message)).toEqual({ commandId: 'id', outcome: 'decided', answer })
    }),
  )
})

test('a conflict is published but does not replace the first result', async () => {
  const redis = fakeRedis()
  redis.apply(operations(resultOf({ answer: '1' })))
  redis.apply(operations(resultOf({ outcome: 'conflict', answer: '' })))
  expect((await readResult(redis.reader, 'links', PARTITION, 'id'))?.answer).toBe('1')
  expect(parseResultMessage(redis.published[1].message)).toEqual({ commandId: 'id', outcome: 'conflict', answer: '' })
})

test('the result of a late retry is published but not stored', () => {
  expect(operations(resultOf({ decided_at: NOW - 3_600_000 })).map(({ op }) => op)).toEqual(['publish'])
  expect(operations(resultOf({ decided_at: NOW - 300_000 }))).toContainEqual(expect.objectContaining({ op: 'expire', seconds: 300 }))
})

test("records without a result go to the service's view, and a tombstone removes the value", () => {
  const link = linkOf({})
  expect(view.operationsFor(PARTITION, 'abc', { view: link, result: null })).toEqual(linksView.operationsFor(PARTITION, 'abc', link))
  expect(view.operationsFor(PARTITION, 'abc', null)).toEqual([{ op: 'del', key: '{links:2}:link:abc' }])
})

test('a link reads back as it was stored', () => {
  const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null })
  const time = fc.nat({ max: 4_000_000_000_000 })
  const links = fc.record({
    short_code: fc.constant('abc1234'),
    long_url: fc.webUrl(),
    user_id: optional(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })),
    domain: fc.domain(),
    expires_at: optional(time),
    expired_url: optional(fc.webUrl()),
    created_at: time,
    is_active: fc.boolean(),
    is_blocked: fc.boolean(),
    is_expired: fc.boolean(),
    is_deleted: fc.constant(false),
    analytics: fc.boolean(),
  })
  fc.assert(
    fc.property(links, (link) => {
      expect(parseLink(storedLink(link))).toEqual({
        longUrl: link.long_url,
        domain: link.domain,
        createdAt: link.created_at,
        expiresAt: link.expires_at ?? undefined,
        expiredUrl: link.expired_url ?? undefined,
        userId: link.user_id?.toString(),
        isActive: link.is_active,
        analytics: link.analytics,
      })
    }),
  )
})

function linkOf(fields: Partial<Link>): Link {
  return {
    short_code: 'abc',
    long_url: 'https://example.com/',
    user_id: null,
    domain: 'sho.rt',
    expires_at: null,
    expired_url: null,
    created_at: NOW,
    is_active: true,
    is_blocked: false,
    is_expired: false,
    is_deleted: false,
    analytics: true,
    ...fields,
  }
}
