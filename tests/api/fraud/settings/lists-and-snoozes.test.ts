import { describe, expect, test } from 'vitest'
import { factsOf } from '../../../../schemas/fraud/rules/facts.ts'
import { isSnoozed } from '../../../../schemas/fraud/rules/snoozes.ts'
import { settingsApi } from './harness.ts'

const HOUR_MS = 3_600_000
const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index))

describe('lists', () => {
  test('lists are created, read, replaced and deleted, and are in force as soon as the response arrives', async () => {
    const { send, settings, advance } = await settingsApi()
    const summary = {
      name: 'mules',
      count: 2,
      updated_by: 'olga',
      created_at: '2026-01-15T12:00:00.000Z',
      updated_at: '2026-01-15T12:00:00.000Z',
    }
    expect(await send('POST', 'lists', { body: { name: 'mules', values: ['b', 'a', 'b'] } })).toEqual({ status: 201, body: summary })
    expect(settings.lists.get('mules')).toEqual(new Set(['b', 'a']))
    expect(await send('POST', 'lists', { body: { name: 'mules', values: [] } })).toMatchObject({
      status: 409,
      body: { error: 'list_exists' },
    })
    expect((await send('GET', 'lists/mules')).body).toEqual({ ...summary, values: ['b', 'a'] })
    advance(1_000)
    const replaced = { ...summary, count: 1, updated_at: '2026-01-15T12:00:01.000Z' }
    expect(await send('PUT', 'lists/mules', { body: { values: ['c'] } })).toEqual({ status: 200, body: replaced })
    await send('POST', 'lists', { body: { name: 'a', values: [] } })
    const { lists } = (await send('GET', 'lists')).body
    expect([lists.map(({ name }: { name: string }) => name), lists[1]]).toEqual([['a', 'mules'], replaced])
    expect((await send('DELETE', 'lists/mules')).status).toBe(204)
    expect(settings.lists.has('mules')).toBe(false)
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', { values: [] }]] as const) {
      expect(await send(method, 'lists/mules', { body })).toMatchObject({ status: 404, body: { error: 'list_not_found' } })
    }
  })

  test('a list cannot be deleted while an enabled rule reads it, because this rule would silently never match', async () => {
    const { send } = await settingsApi()
    await send('POST', 'lists', { body: { name: 'mules', values: ['m'] } })
    const condition = "inList('mules', payee.merchant_id)"
    await send('POST', 'rules', { body: { rule_id: 'v', name: 'v', condition, action: 'BLOCK', priority: 1 } })
    expect(await send('DELETE', 'lists/mules')).toMatchObject({ status: 409, body: { error: 'list_in_use', rule_ids: ['v'] } })
    await send('DELETE', 'rules/v')
    expect((await send('DELETE', 'lists/mules')).status).toBe(204)
  })

  test('a list with more than 10,000 values, an invalid name or an invalid value is refused', async () => {
    const { send } = await settingsApi()
    const many = await send('POST', 'lists', { body: { name: 'many', values: numbered(10_001) } })
    expect(many).toMatchObject({ status: 409, body: { error: 'settings_limit_reached', message: 'A list may have at most 10000 values.' } })
    expect((await send('POST', 'lists', { body: { name: 'many', values: numbered(10_000) } })).body.count).toBe(10_000)
    for (const body of [
      { name: 'a b', values: [] },
      { name: '..', values: [] },
      { name: 'a', values: [''] },
      { name: 'a', values: ['x'.repeat(1_025)] },
    ]) {
      expect(await send('POST', 'lists', { body })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    }
  })
})

describe('snoozes', () => {
  const SNOOZE = { entity_type: 'USER', entity_value: ' u1 ', hours: 2, reason: 'travels' }
  const isSnoozedFor = (settings: Awaited<ReturnType<typeof settingsApi>>['settings'], user: string, at: number) =>
    isSnoozed(settings.snoozes, 'seed-tor', factsOf({ 'payer.user_id': user }), at)

  test('a snooze makes a rule skip one entity for the requested number of hours', async () => {
    const { send, settings, clock, advance } = await settingsApi()
    const { status, body } = await send('POST', 'rules/seed-tor/snoozes', { body: SNOOZE })
    expect([status, body]).toEqual([
      201,
      {
        snooze_id: expect.stringMatching(/^[\w-]{16}$/),
        rule_id: 'seed-tor',
        entity_type: 'USER',
        entity_value: 'u1',
        until: '2026-01-15T14:00:00.000Z',
        reason: 'travels',
        created_by: 'olga',
        created_at: '2026-01-15T12:00:00.000Z',
      },
    ])
    expect([isSnoozedFor(settings, 'u1', clock.now), isSnoozedFor(settings, 'u2', clock.now)]).toEqual([true, false])
    expect((await send('GET', 'rules/seed-tor/snoozes')).body).toEqual({ snoozes: [body], page: 1, limit: 20, total: 1 })
    expect((await send('GET', 'rules/seed-zscore-3/snoozes')).body.total).toBe(0)
    clock.now += 2 * HOUR_MS
    expect([isSnoozedFor(settings, 'u1', clock.now), (await send('GET', 'rules/seed-tor/snoozes')).body.total]).toEqual([false, 0])
    clock.now -= 2 * HOUR_MS
    advance(2 * HOUR_MS + 1_000)
    await expect.poll(() => settings.allSnoozes).toEqual([])
  })

  test('a snooze can be ended, but only through its own rule', async () => {
    const { send, settings, clock } = await settingsApi()
    const { snooze_id } = (await send('POST', 'rules/seed-tor/snoozes', { body: SNOOZE })).body
    expect(await send('DELETE', `rules/seed-zscore-3/snoozes/${snooze_id}`)).toMatchObject({
      status: 404,
      body: { error: 'snooze_not_found' },
    })
    expect((await send('DELETE', `rules/seed-tor/snoozes/${snooze_id}`)).status).toBe(204)
    expect(isSnoozedFor(settings, 'u1', clock.now)).toBe(false)
    expect((await send('DELETE', `rules/seed-tor/snoozes/${snooze_id}`)).status).toBe(404)
  })

  test('snoozes do not apply to a new rule with the id of a removed rule, but apply again if a roll-back restores the removed rule', async () => {
    const { send, settings, clock, advance } = await settingsApi()
    await send('POST', 'rules/seed-tor/snoozes', { body: SNOOZE })
    await send('DELETE', 'rules/seed-tor?remove=true')
    advance(1)
    await send('POST', 'rules', { body: { rule_id: 'seed-tor', name: 'n', condition: 'ip.is_vpn', action: 'BLOCK', priority: 1 } })
    expect([isSnoozedFor(settings, 'u1', clock.now), (await send('GET', 'rules/seed-tor/snoozes')).body.total]).toEqual([false, 0])
    expect((await send('POST', 'rules/seed-tor/snoozes', { body: { ...SNOOZE, entity_value: 'u2' } })).status).toBe(201)
    expect(isSnoozedFor(settings, 'u2', clock.now)).toBe(true)
    await send('POST', 'rules/rollback', { body: { version: 0 } })
    expect(isSnoozedFor(settings, 'u1', clock.now)).toBe(true)
  })

  test('snoozes store IP addresses in canonical form, and e-mail addresses only as hashes', async () => {
    const { send, hashes, published } = await settingsApi()
    const shownOf = async (entity_type: string, entity_value: string) =>
      (await send('POST', 'rules/seed-tor/snoozes', { body: { entity_type, entity_value, hours: 1 } })).body.entity_value
    expect(await shownOf('IP', '2001:DB8:0::1')).toBe('2001:db8::1')
    const hash = hashes.email('ann@example.com')
    expect([await shownOf('EMAIL', 'Ann@Example.com'), await shownOf('EMAIL', hash)]).toEqual([hash, hash])
    expect(JSON.stringify(published).toLowerCase()).not.toContain('example.com')
    for (const [entity_type, entity_value] of [
      ['IP', 'here'],
      ['EMAIL', 'ann'],
      ['USER', ' '],
      ['PHONE', '1'],
    ]) {
      const { status, body } = await send('POST', 'rules/seed-tor/snoozes', { body: { entity_type, entity_value, hours: 1 } })
      expect([status, body.error]).toEqual([400, 'invalid_request'])
    }
  })

  test('snoozes never store the number of a payment card', async () => {
    const { send, published } = await settingsApi()
    const body = { entity_type: 'CARD_HASH', entity_value: '4111 1111 1111 1111', hours: 1 }
    expect(await send('POST', 'rules/seed-tor/snoozes', { body })).toMatchObject({
      status: 400,
      body: { error: 'raw_card_number', details: [{ path: 'body.entity_value' }] },
    })
    expect(published).toEqual([])
    expect((await send('POST', 'rules/seed-tor/snoozes', { body: { ...body, entity_value: 'c1' } })).status).toBe(201)
  })

  test('a snooze needs a rule that exists, and lasts at most 30 days', async () => {
    const { send } = await settingsApi()
    for (const [method, body] of [['POST', SNOOZE], ['GET']] as const) {
      expect(await send(method, 'rules/none/snoozes', { body })).toMatchObject({ status: 404, body: { error: 'rule_not_found' } })
    }
    expect((await send('POST', 'rules/seed-tor/snoozes', { body: { ...SNOOZE, hours: 720 } })).status).toBe(201)
    expect(await send('POST', 'rules/seed-tor/snoozes', { body: { ...SNOOZE, hours: 721 } })).toMatchObject({
      status: 409,
      body: { error: 'settings_limit_reached', message: 'A snooze may last at most 720 hours.' },
    })
    expect((await send('POST', 'rules/seed-tor/snoozes', { body: { ...SNOOZE, hours: 0 } })).status).toBe(400)
  })
})
