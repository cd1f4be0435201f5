import { expect, test } from 'vitest'
import type { Link } from '../../../../schemas/links/types.ts'
import { LINKS_VIEW, linksView, readLink } from '../../../../state/views/links/links.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../../../state/views/view.ts'
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

test('a link is found if the view receives it and catches up while the link is read', async () => {
  const { reader, apply, caughtUp } = fakeRedis()
  const get: ViewReader['get'] = async (key) => {
    const found = await reader.get(key)
    apply(linksView.operationsFor(0, 'abc1234', link))
    caughtUp(LINKS_VIEW, 1)
    return found
  }
  expect(await readLink({ get }, 0, 'abc1234')).toMatchObject({ longUrl: 'https://example.com/', userId: '42' })
})
