import { expect, test } from 'vitest'
import type { HttpMessage } from '../../../../pipelines/engine/index.ts'
import { DELIVERED } from '../../../../pipelines/engine/index.ts'
import { nothingOf } from '../../../../pipelines/matches/pairs/relation.ts'
import { loggedPushes, pushTarget, webhookPushes } from '../../../../pipelines/matches/pushes/target.ts'
import { silentLog } from '../../../../runtime/system.ts'
import { checkMatch, type MatchVerdict, type PushCheckReader } from '../../../../state/views/matches/push-check.ts'
import { severedArguments, severedField } from '../../../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW, matchUsersView, userKeys } from '../../../../state/views/matches/users.ts'
import { caughtUpKey } from '../../../../state/views/view.ts'

const PUSH = { match_id: 'm-1', user_id: 'ann', other_id: 'bob', conversation_id: 'c-1', matched_at: 5 }
const record = (value: unknown) => ({ offset: 1, timestamp: 5, key: 'ann', value })
const PARTITIONS: Record<string, number> = { ann: 0, bob: 1 }
const partitionOf = (id: string) => PARTITIONS[id]

test('a push is sent only if its match is open, and fails if the state of the match is unknown', async () => {
  const sent: unknown[] = []
  const outcomeFor = async (verdict: MatchVerdict | Error, now = 100_000) => {
    const target = pushTarget({
      partitionOf,
      now: () => now,
      check: async () => {
        if (verdict instanceof Error) throw verdict
        return verdict
      },
      send: async (push) => {
        sent.push(push)
        return DELIVERED
      },
    })
    return await target.deliver(record(PUSH))
  }
  expect(await outcomeFor('open')).toEqual(DELIVERED)
  expect(await outcomeFor('severed')).toEqual({ outcome: 'dropped', code: 'severed' })
  expect(await outcomeFor('deleted')).toEqual({ outcome: 'dropped', code: 'deleted' })
  // A Redis that has lost its last second of writes may lack a new profile. Shortly after a match, a missing profile is
  // therefore no reason to drop the push.
  expect(await outcomeFor('deleted', 10_000)).toMatchObject({ outcome: 'failed', code: 'view_behind' })
  expect(await outcomeFor('unknown')).toMatchObject({ outcome: 'failed', code: 'view_behind' })
  expect(await outcomeFor(new Error('no Redis'))).toMatchObject({ outcome: 'failed', code: 'redis_unavailable' })
  expect(sent).toEqual([PUSH])
})

test('the webhook gets a signed message with the time of the attempt', async () => {
  const messages: HttpMessage[] = []
  const sender = {
    send: async (message: HttpMessage) => {
      messages.push(message)
      return DELIVERED
    },
    close() {},
  }
  const send = webhookPushes(sender, [Buffer.alloc(24)], () => 7_000)
  expect(await send(PUSH)).toEqual(DELIVERED)
  expect(messages[0].headers).toMatchObject({ 'idempotency-key': 'm-1:ann', 'webhook-timestamp': '7' })
})

test('a push that is logged instead of sent shows only ids', async () => {
  const lines: unknown[] = []
  const send = loggedPushes({ ...silentLog, info: (fields, event) => lines.push([event, fields]) })
  expect(await send(PUSH)).toEqual(DELIVERED)
  expect(lines).toEqual([['match_push', { push_id: 'm-1:ann', match_id: 'm-1', user_id: 'ann', other_id: 'bob' }]])
})

/** Creates an in-memory view. `checkMatch` needs only its strings and hashes. */
function view() {
  const texts = new Map<string, string>()
  const hashes = new Map<string, Map<string, string>>()
  const reader: PushCheckReader = {
    get: async (key) => texts.get(key) ?? null,
    hget: async (key, field) => hashes.get(key)?.get(field) ?? null,
    hmget: async (key, fields) => fields.map((field) => hashes.get(key)?.get(field) ?? null),
  }
  const hash = (key: string) => hashes.get(key) ?? hashes.set(key, new Map()).get(key)!

  function apply(key: string, value: Parameters<typeof matchUsersView.operationsFor>[2]): void {
    const userId = key.split(':')[0]
    for (const operation of matchUsersView.operationsFor(partitionOf(userId), key, value)) {
      if (operation.op === 'set') texts.set(operation.key, String(operation.value))
      if (operation.op === 'del') texts.delete(operation.key)
      if (operation.op === 'hset')
        for (const [field, text] of Object.entries(operation.fields)) hash(operation.key).set(field, String(text))
      if (operation.op === 'hdel') hash(operation.key).delete(operation.field)
    }
  }

  for (const id of ['ann', 'bob']) {
    texts.set(caughtUpKey(MATCH_USERS_VIEW, partitionOf(id)), '1')
    texts.set(userKeys(partitionOf(id), id).profile, '{}')
  }
  const placed = (id: string) => ({ id, partition: partitionOf(id) })
  const verdict = () => checkMatch(reader, { user: placed('ann'), other: placed('bob'), matchedAt: PUSH.matched_at })
  return { texts, hash, apply, verdict }
}

const RELATION = { ...nothingOf({ userId: 'ann', otherId: 'bob' }, 6), match_id: 'm-1', conversation_id: 'c-1', matched_at: 5 }

test('a push is permitted whether or not the view already includes the match', async () => {
  const { apply, verdict } = view()
  expect(await verdict()).toBe('open')
  apply('ann:bob', { ...RELATION, match_id: null, conversation_id: null, matched_at: null, liked_at: 4 })
  expect(await verdict()).toBe('open')
  apply('ann:bob', RELATION)
  expect(await verdict()).toBe('open')
})

test.each([{ has_ended: true }, { blocks: true, has_ended: true }, { is_blocked: true, has_ended: true }])(
  'a match that has ended gets no push: %j',
  async (change) => {
    const { apply, verdict } = view()
    apply('ann:bob', { ...RELATION, ...change })
    expect(await verdict()).toBe('severed')
  },
)

test.each(['blocks', 'blocked', 'ended'] as const)(
  'a note of the API that a match has ended (%s) prevents the push before the view includes the change, even while the view is rebuilt',
  async (cause) => {
    const { texts, hash, verdict } = view()
    hash(userKeys(0, 'ann').recent).set(severedField('bob', cause), '1')
    expect(await verdict()).toBe('severed')
    texts.delete(caughtUpKey(MATCH_USERS_VIEW, 1))
    expect(await verdict()).toBe('severed')
  },
)

test('the note of a block that has been lifted does not prevent a push about a later match', async () => {
  const { apply, hash, verdict } = view()
  const note = (isSevered: boolean) => severedArguments(severedField('bob', 'blocks'), 5, isSevered).slice(2).join(' ')
  hash(userKeys(0, 'ann').recent).set(severedField('bob', 'blocks'), note(true))
  expect(await verdict()).toBe('severed')
  hash(userKeys(0, 'ann').recent).set(severedField('bob', 'blocks'), note(false))
  expect(await verdict()).toBe('open')
  apply('ann:bob', RELATION)
  expect(await verdict()).toBe('open')
})

test('if the view contains a block but no match, the push waits for the view, because the block must have been lifted before the match', async () => {
  const { apply, verdict } = view()
  apply('ann:bob', { ...RELATION, match_id: null, conversation_id: null, matched_at: null, is_blocked: true })
  expect(await verdict()).toBe('unknown')
})

test.each([0, 1])('no decision about a push is made while partition %i of the view is being built', async (partition) => {
  const { texts, verdict } = view()
  texts.delete(caughtUpKey(MATCH_USERS_VIEW, partition))
  expect(await verdict()).toBe('unknown')
})

test.each(['ann', 'bob'])('no push is sent if %s has deleted their profile', async (id) => {
  const { texts, verdict } = view()
  texts.delete(userKeys(partitionOf(id), id).profile)
  expect(await verdict()).toBe('deleted')
})

test.each(['ann', 'bob'])('no push is sent if %s has deleted their profile since the match and created a new one', async (id) => {
  const { texts, apply, verdict } = view()
  const created = (created_at: number) => texts.set(userKeys(partitionOf(id), id).profile, JSON.stringify({ created_at }))
  created(PUSH.matched_at)
  expect(await verdict()).toBe('open')
  created(PUSH.matched_at + 1)
  expect(await verdict()).toBe('deleted')
  apply('ann:bob', { ...RELATION, match_id: null, conversation_id: null, matched_at: null, is_blocked: true })
  expect(await verdict()).toBe('deleted')
  // The two users have matched again, or the clock that dated the match was behind.
  apply('ann:bob', RELATION)
  expect(await verdict()).toBe('open')
})
