import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { checkFor } from '../../../api/limits/check.ts'
import { type ApiClient, hashOfKey } from '../../../api/limits/core/caller.ts'
import { failOpenLimiter } from '../../../api/limits/core/fail-open-limiter.ts'
import { type LimitedRequest, limiter, type Verdict } from '../../../api/limits/core/limiter.ts'
import { compileRules } from '../../../api/limits/core/matching.ts'
import { type GivenRule, ruleOf } from '../../../schemas/limit-rule.ts'
import { memoryCounters } from './core/memory-counters.ts'

const KEY = 'mr_live_0123456789'
const ACME: ApiClient = { clientId: 'acme', keyId: 'k1', tier: 'pro' }
const ASKED = { method: 'GET', path: '/other/gateway', cost: 1 }

const TWO: GivenRule = { rule_id: 'two', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 }

function gateway(rules: readonly GivenRule[] = [TWO]) {
  const counters = memoryCounters()
  const table = compileRules(rules.map(ruleOf))
  const told = { metrics: [] as Verdict[], records: [] as (readonly [LimitedRequest, Verdict])[], faults: [] as string[] }
  const limits = failOpenLimiter({
    limiter: limiter({ counters: counters.store, rules: () => table }),
    observer: {
      decided: (verdict) => void told.metrics.push(verdict),
      recordingFailed: (cause) => void told.faults.push(cause.message),
      failed: (reason, cause) => void told.faults.push(`${reason}: ${cause?.message}`),
    },
    monotonic: () => 0,
    onDecision: (request, verdict) => void told.records.push([request, verdict]),
  })
  const state = { areKeysLoading: false, isMemoryShort: false }
  const clients = {
    find(hash: string) {
      if (state.areKeysLoading) throw new ApiError(errors.not_ready)
      return hash === hashOfKey(KEY) ? ACME : undefined
    },
  }
  const check = (more: { api_key?: string; user_id?: string; ip?: string; cost?: number; path?: string }) =>
    checkFor({ ...ASKED, ...more }, limits, clients, () => state.isMemoryShort)
  return { ...counters, told, keys: state, check }
}

test('a gateway gets a decision, and the request is counted and recorded', async () => {
  const { check, told } = gateway()
  expect(await check({ api_key: KEY })).toMatchObject({ allowed: true, reason: 'within_limits', client_id: 'acme', rule_id: 'two' })
  await check({ api_key: KEY })
  const refused = await check({ api_key: KEY, cost: 2 })
  expect(refused).toMatchObject({ allowed: false, reason: 'over_limit', violations: ['two'] })
  expect(refused.headers).toMatchObject({ 'Retry-After': '60', 'X-RateLimit-Remaining': '0' })
  expect(told.metrics.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'refused'])
  expect(told.records.map(([{ path, caller, cost }, { outcome }]) => [path, caller.clientId, cost, outcome])).toEqual([
    ['/other/gateway', 'acme', 1, 'allowed'],
    ['/other/gateway', 'acme', 1, 'allowed'],
    ['/other/gateway', 'acme', 2, 'refused'],
  ])
})

test.each(['/other/%67ateway', '/other/%67ateway?page=2', '/%6Fther/g%61teway#top'])(
  'the rule for an exact path also applies to its encoded form %s',
  async (path) => {
    const { check } = gateway([{ rule_id: 'exact', endpoint_pattern: '/other/gateway', limit_count: 1, window_seconds: 60 }])
    expect(await check({ api_key: KEY, path })).toMatchObject({ allowed: true, rule_id: 'exact' })
    expect(await check({ api_key: KEY })).toMatchObject({ allowed: false, rule_id: 'exact' })
  },
)

test('the case of hexadecimal digits in a path does not matter, and encoded slashes and percent signs stay encoded', async () => {
  const { check, told } = gateway()
  for (const path of ['/f%c3%bcr', '/a%2fb', '/a%2Fb%', '/%%361', '/%7euser%40b']) await check({ api_key: KEY, path })
  expect(told.records.map(([{ path }]) => path)).toEqual(['/f%C3%BCr', '/a%2Fb', '/a%2Fb%25', '/%2561', '/~user@b'])
})

test('of a long path, only the part that patterns can match is normalised, so that hostile paths cost little time', async () => {
  const { check, told } = gateway([{ rule_id: 'prefix', endpoint_pattern: `/${'a'.repeat(197)}/*`, limit_count: 1, window_seconds: 60 }])
  expect(await check({ api_key: KEY, path: `/${'%61'.repeat(197)}/${'ü'.repeat(60_000)}` })).toMatchObject({ rule_id: 'prefix' })
  expect(told.records[0][0].path).toMatch(/^\/a{197}\/(%C3%BC)+ü+$/)
})

test.each(['/für', '/f%c3%bcr'])('the rule for a path with an umlaut also applies to %s', async (path) => {
  const { check } = gateway([{ rule_id: 'exact', endpoint_pattern: '/f%C3%BCr', limit_count: 1, window_seconds: 60 }])
  expect(await check({ api_key: KEY, path })).toMatchObject({ rule_id: 'exact' })
})

test('callers of a gateway are counted by their IPv4 address, even if the gateway sends it as an IPv4-mapped IPv6 address', async () => {
  const { check } = gateway()
  const ids = []
  for (const ip of ['::ffff:192.0.2.1', '192.0.2.1', '::ffff:c000:201', '::ffff:192.0.2.2']) ids.push(await check({ ip }))
  expect(ids.map(({ client_id, allowed }) => [client_id, allowed])).toEqual([
    ['ip:192.0.2.1', true],
    ['ip:192.0.2.1', true],
    ['ip:192.0.2.1', false],
    ['ip:192.0.2.2', true],
  ])
})

test('a query or fragment is not part of the path', async () => {
  const { check, told } = gateway()
  for (const path of ['/other/gateway?a=/b', '/other/gateway#c', '/other/gateway']) await check({ user_id: '42', path })
  expect(told.records.map(([{ path }]) => path)).toEqual(['/other/gateway', '/other/gateway', '/other/gateway'])
})

test('attempts to guess a key are counted against the address', async () => {
  const { check, counts } = gateway()
  const guesses = []
  for (let guess = 0; guess < 3; guess++) guesses.push(await check({ api_key: `mr_${guess}`, user_id: '42', ip: '192.0.2.1' }))
  expect(guesses.map(({ allowed, reason, client_id }) => [allowed, reason, client_id])).toEqual([
    [false, 'invalid_api_key', ''],
    [false, 'invalid_api_key', ''],
    [false, 'over_limit', ''],
  ])
  expect([...counts]).toEqual([['limits:{ip:192.0.2.1}:two:w60', 2]])
})

test('while keys are loading, a caller with only a key is allowed without being counted, and other callers are counted by user or address', async () => {
  const { check, keys, counts, told } = gateway()
  keys.areKeysLoading = true
  for (let request = 0; request < 3; request++) {
    expect(await check({ api_key: KEY })).toMatchObject({ allowed: true, reason: 'limiter_unavailable' })
  }
  expect(counts.size).toBe(0)
  expect(told.metrics).toEqual(Array(3).fill({ outcome: 'undecided', reason: 'keys_not_ready' }))
  expect(await check({ api_key: KEY, user_id: '42' })).toMatchObject({ reason: 'within_limits', client_id: 'user:42' })
  expect(await check({ api_key: KEY, ip: '192.0.2.1' })).toMatchObject({ reason: 'within_limits', client_id: 'ip:192.0.2.1' })
})

test('if the limiter fails, the request is allowed and the error is reported', async () => {
  const { check, store, told } = gateway()
  store.decide = () => {
    throw new Error('a bug')
  }
  expect(await check({ user_id: '42' })).toMatchObject({ allowed: true, reason: 'limiter_unavailable', headers: {} })
  store.decide = () => Promise.reject(new Error('another'))
  expect(await check({ user_id: '42' })).toMatchObject({ allowed: true, reason: 'limiter_unavailable' })
  expect(told.faults).toEqual(['fault: a bug', 'fault: another'])
  expect(told.metrics).toEqual([
    { outcome: 'undecided', reason: 'fault' },
    { outcome: 'undecided', reason: 'fault' },
  ])
})

test('while memory is short, IPv6 addresses that gateways send are counted by their /48 network', async () => {
  const { check, keys } = gateway()
  expect((await check({ ip: '2001:db8:1:2::3' })).client_id).toBe('ip:2001:db8:1:2::/64')
  keys.isMemoryShort = true
  expect((await check({ ip: '2001:db8:1:2::3' })).client_id).toBe('ip:2001:db8:1::/48')
})

test('an invalid address is refused', async () => {
  const { check } = gateway()
  await expect(check({ ip: 'here' })).rejects.toThrow('not valid')
})
