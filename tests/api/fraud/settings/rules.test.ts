import { expect, test } from 'vitest'
import { RESERVED_RULE_IDS } from '../../../../api/fraud/rules/model.ts'
import { shadowMover } from '../../../../api/fraud/rules/move-to-shadow.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { fraudAudit } from '../../../../schemas/fraud/topics.ts'
import { fraudApi } from '../harness.ts'
import { settingsApi } from './harness.ts'

const RULE = { rule_id: 'v', name: 'v', condition: 'velocity.user.txn_count_1h > 5', action: 'REVIEW', priority: 1 }
const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const idsOf = (body: { rules: { rule_id: string }[] }) => body.rules.map(({ rule_id }) => rule_id)

test('the seeded rules are in force from the start', async () => {
  const { send, settings } = await settingsApi()
  const { status, body } = await send('GET', 'rules')
  expect([status, body.ruleset_version, idsOf(body)]).toEqual([200, 0, SEEDED_RULES.map(({ rule_id }) => rule_id)])
  expect(body.rules[0]).toEqual({
    rule_id: 'seed-card-testing',
    name: expect.any(String),
    condition: expect.any(String),
    action: 'BLOCK',
    priority: 100,
    enabled: true,
    mode: 'live',
    created_by: 'millrace',
    created_at: '1970-01-01T00:00:00.000Z',
    updated_at: '1970-01-01T00:00:00.000Z',
    expires_at: null,
    fault: null,
  })
  expect(settings.ruleSet.live).toHaveLength(SEEDED_RULES.length)
})

test('as soon as the response arrives, a new rule is in force in the process that created it', async () => {
  const { send, settings } = await settingsApi()
  const created = await send('POST', 'rules', { body: RULE })
  expect(created).toEqual({
    status: 201,
    body: {
      ...RULE,
      enabled: true,
      mode: 'live',
      created_by: 'olga',
      created_at: '2026-01-15T12:00:00.000Z',
      updated_at: '2026-01-15T12:00:00.000Z',
      expires_at: null,
      fault: null,
    },
  })
  expect([settings.ruleSet.version, settings.ruleSet.live[0].rule.rule_id]).toEqual([1, 'v'])
  expect(await send('GET', 'rules/v')).toEqual({ status: 200, body: created.body })
  expect(await send('POST', 'rules', { body: RULE })).toMatchObject({ status: 409, body: { error: 'rule_exists' } })
})

test('a PUT with If-Match replaces a rule only if nobody has changed it since the given version', async () => {
  const { send, clock } = await settingsApi()
  await send('POST', 'rules', { body: RULE })
  const ifMatch = `"${clock.now}"`
  expect((await send('PUT', 'rules/v', { body: { ...RULE, priority: 2 }, headers: { 'If-Match': ifMatch } })).status).toBe(200)
  expect(await send('PUT', 'rules/v', { body: { ...RULE, priority: 3 }, headers: { 'If-Match': ifMatch } })).toMatchObject({
    status: 409,
    body: { error: 'version_conflict', rule: { rule_id: 'v', priority: 2 } },
  })
  expect((await send('PUT', 'rules/v', { body: { ...RULE, priority: 4 } })).body.priority).toBe(4)
})

test('a condition with an unknown name is refused, and the error contains its position and a suggested name', async () => {
  const { send, published } = await settingsApi()
  const refused = await send('POST', 'rules', { body: { ...RULE, rule_id: 'w', condition: 'txn.amonut > 1' } })
  expect(refused).toMatchObject({
    status: 400,
    body: {
      error: 'invalid_condition',
      details: [
        {
          path: 'body.condition',
          code: 'unknown_field',
          line: 1,
          column: 1,
          start: 0,
          end: 10,
          expected: expect.any(Array),
          nearest: 'txn.amount',
        },
      ],
    },
  })
  expect((await send('PUT', 'rules/seed-tor', { body: { ...RULE, rule_id: undefined, condition: "txn.amount > 'a'" } })).body.error).toBe(
    'invalid_condition',
  )
  expect(published).toEqual([])
})

test('PUT replaces a rule, keeps its creator and creation time, and accepts a body that the API returned', async () => {
  const { send, advance } = await settingsApi()
  const { body: created } = await send('POST', 'rules', { body: { ...RULE, created_by: 'max', mode: 'shadow' } })
  advance(SECOND_MS)
  const replaced = await send('PUT', 'rules/v', { body: { ...created, priority: 3, expires_at: '2026-01-16T12:00:00+01:00' } })
  expect(replaced).toEqual({
    status: 200,
    body: { ...created, priority: 3, updated_at: '2026-01-15T12:00:01.000Z', expires_at: '2026-01-16T11:00:00.000Z' },
  })
  const { rule_id: _id, ...fields } = RULE
  expect((await send('PUT', 'rules/v', { body: fields, as: { sub: 'eva', scope: 'admin' } })).body).toMatchObject({
    created_by: 'max',
    mode: 'live',
    expires_at: null,
  })
  expect(await send('PUT', 'rules/none', { body: fields })).toMatchObject({ status: 404, body: { error: 'rule_not_found' } })
  expect(await send('PUT', 'rules/v', { body: { ...fields, rule_id: 'x' } })).toMatchObject({
    status: 400,
    body: { details: [{ path: 'body.rule_id' }] },
  })
})

test('every 32-bit integer can be a priority', async () => {
  const { send } = await settingsApi()
  const [lowest, highest] = [-(2 ** 31), 2 ** 31 - 1]
  for (const priority of [lowest, highest]) {
    expect(await send('POST', 'rules', { body: { ...RULE, rule_id: `p${priority}`, priority } })).toMatchObject({
      status: 201,
      body: { priority },
    })
  }
  for (const priority of [lowest - 1, highest + 1]) {
    expect((await send('POST', 'rules', { body: { ...RULE, rule_id: 'outside', priority } })).status).toBe(400)
  }
})

test('DELETE disables a rule, which is then listed only with all=true; remove=true removes it', async () => {
  const { send, settings } = await settingsApi()
  expect((await send('DELETE', 'rules/seed-tor')).status).toBe(204)
  expect((await send('DELETE', 'rules/seed-tor')).status).toBe(204)
  expect(idsOf((await send('GET', 'rules')).body)).not.toContain('seed-tor')
  expect(idsOf((await send('GET', 'rules?all=true')).body)).toContain('seed-tor')
  expect((await send('GET', 'rules/seed-tor')).body.enabled).toBe(false)
  expect(settings.ruleSet.rules.map(({ rule }) => rule.rule_id)).not.toContain('seed-tor')
  expect((await send('DELETE', 'rules/seed-tor?remove=true')).status).toBe(204)
  expect((await send('GET', 'rules/seed-tor')).status).toBe(404)
  expect(await send('DELETE', 'rules/seed-tor')).toMatchObject({ status: 404, body: { error: 'rule_not_found' } })
})

test('expired rules are not listed as active', async () => {
  const { send, advance } = await settingsApi()
  await send('POST', 'rules', { body: { ...RULE, expires_at: '2026-01-16T12:00:00Z' } })
  expect(idsOf((await send('GET', 'rules')).body)[0]).toBe('v')
  advance(DAY_MS)
  expect(idsOf((await send('GET', 'rules')).body)).not.toContain('v')
  expect(idsOf((await send('GET', 'rules?all=true')).body)[0]).toBe('v')
})

test('a roll-back restores an earlier version of the rules as a new version', async () => {
  const { send, settings } = await settingsApi()
  await send('POST', 'rules', { body: RULE })
  await send('DELETE', 'rules/seed-tor')
  const { tallies } = settings
  expect(await send('POST', 'rules/rollback', { body: { version: 1 } })).toEqual({ status: 200, body: { ruleset_version: 3 } })
  expect(settings.tallies).not.toBe(tallies)
  expect(idsOf((await send('GET', 'rules')).body)).toContain('seed-tor')
  const { versions } = (await send('GET', 'rules/versions')).body
  expect(versions.map(({ version, action, rule_id }: Record<string, unknown>) => [version, action, rule_id])).toEqual([
    [3, 'roll_back_rules', null],
    [2, 'disable_rule', 'seed-tor'],
    [1, 'create_rule', 'v'],
    [0, 'seed', null],
  ])
  expect(versions[0]).toEqual({
    version: 3,
    changed_by: 'olga',
    at: '2026-01-15T12:00:00.000Z',
    action: 'roll_back_rules',
    rule_id: null,
    rules: 21,
  })
  const second = (await send('GET', 'rules/versions/2')).body
  expect([second.ruleset_version, second.rules.find(({ rule_id }: { rule_id: string }) => rule_id === 'seed-tor').enabled]).toEqual([
    2,
    false,
  ])
  expect(idsOf((await send('GET', 'rules/versions/0')).body)).toEqual(SEEDED_RULES.map(({ rule_id }) => rule_id))
  expect((await send('GET', 'rules/versions/3')).body.rules).toHaveLength(SEEDED_RULES.length + 1)
  expect(await send('GET', 'rules/versions/9')).toMatchObject({ status: 404, body: { error: 'ruleset_version_not_found' } })
  expect(await send('POST', 'rules/rollback', { body: { version: 9 } })).toMatchObject({
    status: 404,
    body: { error: 'ruleset_version_not_found' },
  })
})

test('a request that is repeated with the same key makes only one change', async () => {
  const { send } = await settingsApi()
  const headers = { 'idempotency-key': 'k1' }
  const first = await send('POST', 'rules', { body: RULE, headers })
  expect(await send('POST', 'rules', { body: RULE, headers })).toEqual(first)
  expect((await send('GET', 'rules')).body.ruleset_version).toBe(1)
  expect(await send('POST', 'rules', { body: { ...RULE, priority: 2 }, headers })).toMatchObject({
    status: 409,
    body: { error: 'idempotency_conflict' },
  })
})

test('a repeated PUT or DELETE gets the first response, even if the API would refuse the request without the key', async () => {
  const { send } = await settingsApi()
  await send('POST', 'rules', { body: RULE })
  await send('POST', 'lists', { body: { name: 'mules', values: ['m'] } })
  const { body: snooze } = await send('POST', 'rules/v/snoozes', { body: { entity_type: 'USER', entity_value: 'u1', hours: 1 } })
  const current = String(Date.parse((await send('GET', 'rules/v')).body.updated_at))
  for (const [key, method, path, status, body] of [
    ['k1', 'PUT', 'rules/v', 200, { ...RULE, priority: 2 }],
    ['k2', 'PUT', 'lists/mules', 200, { values: ['n'] }],
    ['k3', 'DELETE', `rules/v/snoozes/${snooze.snooze_id}`, 204],
    ['k4', 'DELETE', 'lists/mules', 204],
    ['k5', 'DELETE', 'rules/v?remove=true', 204],
  ] as const) {
    const headers = { 'idempotency-key': key, ...(path === 'rules/v' && { 'if-match': current }) }
    const first = await send(method, path, { body, headers })
    expect([path, first.status]).toEqual([path, status])
    expect([path, await send(method, path, { body, headers })]).toEqual([path, first])
  }
  expect((await send('GET', 'rules')).body.ruleset_version).toBe(3)
})

test('only operators and administrators manage rules', async () => {
  const { send } = await settingsApi()
  for (const [method, path] of [
    ['GET', 'rules'],
    ['POST', 'rules'],
    ['DELETE', 'rules/v'],
    ['GET', 'lists'],
    ['GET', 'rules/audit'],
  ] as const) {
    // biome-ignore format: short
    const body = method === 'POST' ? RULE : undefined
    expect((await send(method, path, { as: null, body })).status).toBe(401)
    expect((await send(method, path, { as: { sub: 'ann', scope: 'fraud:analyst internal' }, body })).status).toBe(403)
  }
  expect((await send('GET', 'rules', { as: { sub: 'root', scope: 'admin' } })).status).toBe(200)
})

test.each([
  [{ rule_id: 'a b' }, 'body.rule_id'],
  [{ rule_id: 'x'.repeat(51) }, 'body.rule_id'],
  [{ name: '' }, 'body.name'],
  [{ name: 'x'.repeat(201) }, 'body.name'],
  [{ condition: '' }, 'body.condition'],
  [{ action: 'DENY' }, 'body.action'],
  [{ priority: 1.5 }, 'body.priority'],
  [{ priority: 2 ** 31 }, 'body.priority'],
  [{ mode: 'off' }, 'body.mode'],
  [{ enabled: 'yes' }, 'body.enabled'],
  [{ expires_at: 'tomorrow' }, 'body.expires_at'],
])('a rule with %j is refused', async (wrong, path) => {
  const { send } = await settingsApi()
  const { status, body } = await send('POST', 'rules', { body: { ...RULE, ...wrong } })
  expect([status, body.error, body.details[0].path]).toEqual([400, 'invalid_request', path])
})

test('the id of a rule cannot be the first path segment of another route below /rules', async () => {
  const { app } = await fraudApi()
  const { paths } = (await (await app.request('/openapi.json')).json()) as { paths: Record<string, unknown> }
  const words = Object.keys(paths).flatMap((path) => /^\/api\/v1\/rules\/([^{/]+)/.exec(path)?.[1] ?? [])
  expect(words.filter((word) => !RESERVED_RULE_IDS.has(word))).toEqual([])
  expect(words).toContain('validate')
  const { send } = await settingsApi()
  for (const rule_id of [...words, '..', 'backtest']) {
    const { status, body } = await send('POST', 'rules', { body: { ...RULE, rule_id } })
    expect([status, body.details]).toEqual([400, [{ path: 'body.rule_id', message: 'is a reserved word' }]])
  }
})

test('a condition can be checked without creating a rule', async () => {
  const { send } = await settingsApi()
  await send('POST', 'lists', { body: { name: 'mules', values: ['m'] } })
  const condition =
    "(user.txn_count_1h>5) and payer.country is missing or inList('mules', payee.merchant_id) or inList('no', payer.user_id)"
  expect((await send('POST', 'rules/validate', { body: { condition } })).body).toEqual({
    valid: true,
    canonical: "user.txn_count_1h > 5 AND payer.country IS MISSING OR inList('mules', payee.merchant_id) OR inList('no', payer.user_id)",
    faults: [],
    fields: ['velocity.user.txn_count_1h', 'payer.country', 'payee.merchant_id', 'payer.user_id'],
    lists: ['mules', 'no'],
    unknown_lists: ['no'],
  })
  expect((await send('POST', 'rules/validate', { body: { condition: 'txn.amount >' } })).body).toMatchObject({
    valid: false,
    canonical: null,
    faults: [{ code: 'syntax', line: 1, column: 13, nearest: null }],
  })
  expect((await send('POST', 'rules/validate', { body: { condition: `txn.amount > ${'1'.repeat(5_000)}` } })).body.faults[0].code).toBe(
    'too_long',
  )
})

test('fields and functions are listed with their types', async () => {
  const { send } = await settingsApi()
  const { fields, functions } = (await send('GET', 'rules/fields')).body
  expect(fields).toContainEqual({ name: 'txn.amount', type: 'number', always_present: true, description: expect.any(String), aliases: [] })
  expect(fields).toContainEqual({
    name: 'velocity.user.txn_count_1h',
    type: 'number',
    always_present: false,
    description: expect.any(String),
    aliases: ['user.txn_count_1h', 'features.user_velocity_1h'],
  })
  expect(functions).toContainEqual({ name: 'inList', parameters: ['list', 'string'], result: 'boolean' })
})

test('the audit is read in pages, and only a page with a single change contains texts above 16 KiB', async () => {
  const { send, audit } = await settingsApi()
  audit.rows = [['rule:v', 'create_rule', 'olga', Date.UTC(2026, 0, 15), 1, null, '{"rule_id":"v"}', 0]]
  expect(await send('GET', 'rules/audit?page=3&limit=10&subject=rule:v')).toEqual({
    status: 200,
    body: {
      changes: [
        {
          subject: 'rule:v',
          action: 'create_rule',
          actor: 'olga',
          at: '2026-01-15T00:00:00.000Z',
          version: 1,
          before: null,
          after: { rule_id: 'v' },
          is_shortened: false,
        },
      ],
    },
  })
  await send('GET', 'rules/audit?limit=1')
  expect(audit.asked).toEqual([
    { subject: 'rule:v', offset: 20, limit: 10, maxTextBytes: 16_384 },
    { subject: '', offset: 0, limit: 1, maxTextBytes: 4 * 1_024 * 1_024 },
  ])
})

test('times within the states that the audit contains are formatted like all other times', async () => {
  const { send, audit } = await settingsApi()
  const at = Date.UTC(2026, 0, 15)
  const [rule, snooze, models] = [{ created_at: at, updated_at: at, expires_at: null }, { until: at }, { champion: { since: at } }]
  audit.rows = [rule, { version: 2, rules: [rule] }, snooze, models].map((state) => [
    ...(['rules', 'roll_back_rules', 'olga', at, 2] as const),
    null,
    JSON.stringify(state),
    0,
  ])
  const time = '2026-01-15T00:00:00.000Z'
  const shownRule = { created_at: time, updated_at: time, expires_at: null }
  const { changes } = (await send('GET', 'rules/audit')).body
  expect(changes.map(({ after }: { after: unknown }) => after)).toEqual([
    shownRule,
    { version: 2, rules: [shownRule] },
    { until: time },
    { champion: { since: time } },
  ])
})

test('while Kafka is unreachable, a change gets 503 with the id of its command, and rules can still be read', async () => {
  const { send, faults } = await settingsApi()
  faults.kafkaDown = true
  expect(await send('POST', 'rules', { body: RULE })).toMatchObject({
    status: 503,
    body: { error: 'unavailable', command_id: expect.any(String) },
  })
  expect((await send('GET', 'rules')).status).toBe(200)
})

test('the guard can move a rule to shadow mode without a caller, as the actor fraud-guard, but only the given version of the rule', async () => {
  const { changeSettings, settings, driver } = await settingsApi()
  const [{ updated_at }] = SEEDED_RULES
  const move = shadowMover(changeSettings)
  await expect(move({ rule_id: 'seed-tor', updated_at: updated_at + 1 })).rejects.toMatchObject({
    definition: { code: 'version_conflict' },
  })
  expect(settings.ruleSet.shadow).toEqual([])
  await move({ rule_id: 'seed-tor', updated_at })
  expect(settings.ruleSet.shadow.map(({ rule }) => rule.rule_id)).toEqual(['seed-tor'])
  expect(driver.read(fraudAudit).map(({ value }) => [value?.subject, value?.action, value?.actor])).toEqual([
    ['rule:seed-tor', 'shadow_rule', 'fraud-guard'],
  ])
})
