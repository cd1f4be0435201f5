import { expect, test } from 'vitest'
import { sharedReads } from '../../../../api/kit/shared-reads.ts'
import type { Link } from '../../../../schemas/links/types.ts'
import { LINKS_VIEW, linksView, readLink } from '../../../../state/views/links/links.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const link: Link = {
  short_code: 'abc1234',
  long_url: 'https://example.com/',
  user_id: 42n,
  domain: 'sho.rt',
  expires_at: null,
  expired_url: null,
  created_at: 1_700_000_000_000,
  is_active: true,
  is_blocked: false,
  is_expired: false,
  is_deleted: false,
  analytics: true,
}

test('a missing link counts as absent only if the view has caught up', async () => {
  const { reader, caughtUp } = fakeRedis()
  expect(await readLink(reader, 0, 'abc1234')).toBe(NOT_CAUGHT_UP)
  caughtUp(LINKS_VIEW, 1)
  expect(await readLink(reader, 0, 'abc1234')).toBeUndefined()
})

test('while the view is being filled, a link that it already contains is not returned, because it may have been deleted', async () => {
  const { reader, apply, caughtUp } = fakeRedis()
  apply(linksView.operationsFor(0, 'abc1234', link))
  expect(await readLink(reader, 0, 'abc1234')).toBe(NOT_CAUGHT_UP)
  caughtUp(LINKS_VIEW, 1)
  expect(await readLink(reader, 0, 'abc1234')).toMatchObject({ longUrl: 'https://example.com/', userId: '42' })
})

test('a reader that shares commands reads a link and the caught-up flag of its partition with one command', async () => {
  const { reader, apply, caughtUp } = fakeRedis()
  apply(linksView.operationsFor(0, 'abc1234', link))
  caughtUp(LINKS_VIEW, 1)
  const commands: string[][] = []
  const none = async () => []
  const readValues = async (keys: string[]) => {
    commands.push(keys)
    return await reader.mget(keys)
  }
  const shared = sharedReads({ readValues, readBuffers: none, readHashes: none })
  expect(await readLink(shared, 0, 'abc1234')).toMatchObject({ longUrl: 'https://example.com/' })
  expect(commands.map((keys) => keys.length)).toEqual([2])
})
