import { expect, test } from 'vitest'
import type { CommandRequest, Commands } from '../../../api/kit/commands/commands.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { compileRules } from '../../../api/limits/core/matching.ts'
import type { LimitSettings } from '../../../api/limits/core/settings.ts'
import { type LimitsDeps, limitsHandlers } from '../../../api/limits/handlers.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'
import type { LimitClient, LimitRule } from '../../../schemas/limits/types.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { START, testApp } from '../kit/harness.ts'

/**
 * Serves the handlers with in-memory settings and commands. The other dependencies are missing, because the tests do
 * not use them.
 */
async function limitsApi() {
  const state = {
    areKeysLoaded: true,
    isEachIdTaken: false,
    commands: 0,
    keys: [] as (string | undefined)[],
    rules: [] as LimitRule[],
    rows: undefined as unknown[] | undefined,
  }
  const clients = new Map<string, LimitClient>()
  function assertLoaded(): void {
    if (!state.areKeysLoaded) throw new ApiError(errors.not_ready)
  }
  const settings: LimitSettings = {
    rules: () => compileRules([]),
    areRulesInForce: () => true,
    allRules: () => [...state.rules],
    rule: () => undefined,
    clients: {
      find(hash) {
        assertLoaded()
        const found = clients.get(hash)
        return found && { clientId: found.client_id, keyId: found.key_id, tier: found.tier }
      },
    },
    allClients() {
      assertLoaded()
      return [...clients.values()]
    },
    probes: [],
    close: async () => undefined,
  }
  const commands = {
    async open({ idempotencyKey }: CommandRequest) {
      state.commands++
      state.keys.push(idempotencyKey)
      return {
        id: 'command',
        async run(_flow: unknown, _key: string, { client }: { client: LimitClient | null }) {
          if (client === null) return { outcome: 'not_found' }
          if (state.isEachIdTaken) return { outcome: 'exists' }
          clients.set(client.key_hash, client)
          return { outcome: 'done', rule: null, client }
        },
      }
    },
  } as unknown as Commands
  const tables: TableReader = {
    async query() {
      if (state.rows === undefined) throw new ApiError(errors.query_too_large)
      return { json: async <Row>() => state.rows as Row[] }
    },
  }
  const service = limitsHandlers({ settings, commands, tables, paths: limitedPaths(['/api/v1/*']), now: () => START } as LimitsDeps)
  const api = await testApp({ services: [service] })
  async function issue(body: unknown) {
    const headers = { 'content-type': 'application/json', ...(await api.bearer({ sub: '1', scope: 'admin' })) }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await api.app.request('/api/v1/rate-limits/clients', init)
    return { status: response.status, body: (await response.json()) as { error?: string; api_key?: string; label?: string } }
  }
  async function read(path: string) {
    const response = await api.app.request(`/api/v1/rate-limits/${path}`, { headers: await api.bearer({ sub: '1', scope: 'admin' }) })
    return (await response.json()) as { rules: { rule_id: string }[]; clients: { label: string }[]; changes: object[]; total: number }
  }
  return { ...api, state, clients, issue, read }
}

test('no key is issued while keys are loading', async () => {
  const { issue, state } = await limitsApi()
  state.areKeysLoaded = false
  expect(await issue({ client_id: 'acme' })).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  expect(state.commands).toBe(0)
  state.areKeysLoaded = true
  expect(await issue({ client_id: 'acme' })).toMatchObject({ status: 201, body: { api_key: expect.stringMatching(/^mr_/) } })
})

test('if all ids of a new key are taken, the caller is asked for a new Idempotency-Key and gets no command_id', async () => {
  const { issue, state } = await limitsApi()
  state.isEachIdTaken = true
  const { status, body } = await issue({ client_id: 'acme' })
  expect([status, body]).toEqual([503, expect.objectContaining({ message: expect.stringContaining('a new Idempotency-Key') })])
  expect(body).not.toHaveProperty('command_id')
})

test('a label has at most 200 code points, and is stored in NFC', async () => {
  const { issue } = await limitsApi()
  expect(await issue({ client_id: 'acme', label: '🔑'.repeat(200) })).toMatchObject({ status: 201 })
  expect(await issue({ client_id: 'acme', label: '🔑'.repeat(201) })).toMatchObject({ status: 400 })
  expect(await issue({ client_id: 'acme', label: 'e\u0301' })).toMatchObject({ status: 201, body: { label: '\u00e9' } })
})

test.each([
  ['PUT', 'rules/r1', { match: { endpoint_pattern: '/a' }, limit: 1, window_seconds: 1 }],
  ['DELETE', 'rules/r1', undefined],
  ['DELETE', 'clients/c1', undefined],
])('%s %s accepts an Idempotency-Key, because a repetition without a key could undo a later change', async (method, path, body) => {
  const { app, bearer, state } = await limitsApi()
  const type = body && { 'content-type': 'application/json' }
  const headers = { 'idempotency-key': 'k', ...type, ...(await bearer({ sub: '1', scope: 'admin' })) }
  const response = await app.request(`/api/v1/rate-limits/${path}`, { method, headers, body: body && JSON.stringify(body) })
  expect([response.status, state.keys]).toEqual([404, ['k']])
})

test.each([
  ['GET', 'audit', undefined],
  ['GET', 'violations', undefined],
  ['POST', 'simulate', { match: { endpoint_pattern: '/a' }, limit: 1, window_seconds: 1 }],
])('%s %s gets 422, as documented, if its query needs too much memory', async (method, path, body) => {
  const { app, bearer } = await limitsApi()
  const headers = { 'content-type': 'application/json', ...(await bearer({ sub: '1', scope: 'admin' })) }
  // `app.request` fails if the OpenAPI document does not list the error.
  const response = await app.request(`/api/v1/rate-limits/${path}`, { method, headers, body: body && JSON.stringify(body) })
  expect(response.status).toBe(422)
})

test('a request for usage without any identity gets a 401 that names the authentication scheme', async () => {
  const { app } = await limitsApi()
  const response = await app.request('/api/v1/rate-limits/usage/user:42')
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="millrace"'])
})

test('rules are listed in the order of their ids, and deleted rules only on request', async () => {
  const { state, read } = await limitsApi()
  const ruleWith = (rule_id: string, is_active = true) =>
    ruleOf({ rule_id, endpoint_pattern: '/api/v1/a', limit_count: 1, window_seconds: 1, is_active })
  state.rules = [ruleWith('c'), ruleWith('b', false), ruleWith('a'), ruleWith('d')]
  const listed = async (query: string) => {
    const { rules, total } = await read(`rules${query}`)
    return [rules.map(({ rule_id }) => rule_id).join(''), total]
  }
  expect(await listed('')).toEqual(['acd', 3])
  expect(await listed('?include_inactive=true')).toEqual(['abcd', 4])
  expect(await listed('?include_inactive=true&page=2&limit=3')).toEqual(['d', 4])
})

test('keys are listed in the order of their clients, and revoked keys only on request', async () => {
  const { clients, read } = await limitsApi()
  const keys = [
    { client_id: 'b', label: '3', revoked_at: null },
    { client_id: 'a', label: '2', revoked_at: null },
    { client_id: 'a', label: '1', revoked_at: 5 },
  ]
  for (const [index, key] of keys.entries()) {
    const key_hash = String(index)
    clients.set(key_hash, { ...key, key_id: key_hash, key_hash, tier: 'free', created_at: 9 - index })
  }
  const listed = async (query: string) => {
    const { clients: found, total } = await read(`clients${query}`)
    return [found.map(({ label }) => label).join(''), total]
  }
  expect(await listed('')).toEqual(['23', 2])
  expect(await listed('?include_revoked=true')).toEqual(['123', 3])
  expect(await listed('?include_revoked=true&page=2&limit=2')).toEqual(['3', 3])
})

test('the audit shows rules and keys as the other endpoints do, with ISO times', async () => {
  const { state, read } = await limitsApi()
  const rule = ruleOf({ rule_id: 'r', endpoint_pattern: 'GET /a/*', limit_count: 5, window_seconds: 60, created_at: 0, updated_at: 1 })
  const key = { key_id: 'k', client_id: 'acme', tier: 'pro', label: '', created_at: 2, revoked_at: 3 }
  state.rows = [
    ['rule:r', 'delete_rule', '1', 4, JSON.stringify(rule), JSON.stringify({ ...rule, is_active: false })],
    ['key:k', 'revoke_key', '1', 3, JSON.stringify({ ...key, revoked_at: null }), JSON.stringify(key)],
    ['key:k', 'issue_key', '1', 2, null, JSON.stringify({ ...key, revoked_at: null })],
  ]
  const shown = {
    rule_id: 'r',
    match: { tier: '*', endpoint_pattern: 'GET /a/*', key: ['client'] },
    limit: 5,
    window_seconds: 60,
    action: 'reject',
    burst_allowance: 0,
    status: 'active',
    created_at: '1970-01-01T00:00:00.000Z',
    updated_at: '1970-01-01T00:00:00.001Z',
  }
  const issued = { ...key, created_at: '1970-01-01T00:00:00.002Z', revoked_at: null }
  const { changes } = await read('audit')
  expect(changes).toEqual([
    expect.objectContaining({ at: '1970-01-01T00:00:00.004Z', before: shown, after: { ...shown, status: 'inactive' } }),
    expect.objectContaining({ before: issued, after: { ...issued, revoked_at: '1970-01-01T00:00:00.003Z' } }),
    expect.objectContaining({ before: null, after: issued }),
  ])
})
