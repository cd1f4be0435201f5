import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { LimitedCaller } from '../../../../api/kit/limited-caller.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import type { RuleStatus, Verdict } from '../../../../api/limits/core/limiter.ts'
import { decisionRecords } from '../../../../api/limits/core/records.ts'
import type { Receipt } from '../../../../kafka/transport.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { ruleOf } from '../../../../schemas/limit-rule.ts'
import { limitTraffic, limitViolations } from '../../../../schemas/limits/topics.ts'
import type { LimitTraffic, LimitViolation } from '../../../../schemas/limits/types.ts'
import { type AnyTopic, DEFAULT_MAX_BATCH_BYTES } from '../../../../schemas/topic.ts'

const START_MS = 1_800_000_000_000
const MAX_KINDS = 5_000
const CLOSE_MS = 30_000
const KEPT_SECONDS = 120
const SOON = { timeout: 30_000, interval: 5 }
const ACME: LimitedCaller = { clientId: 'acme', tier: 'pro', apiKeyId: 'k1', ip: '192.0.2.1' }
const ALLOWED: Verdict = { outcome: 'allowed', strictest: undefined, violations: [] }

const rule = ruleOf({ rule_id: 'two', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 })
const status: RuleStatus = { rule, isOver: true, estimate: 2, remaining: 0, resetAt: 0, resetAfterSeconds: 60, retryAfterSeconds: 60 }
const REFUSED: Verdict = { outcome: 'refused', strictest: status, violations: [status] }

/** Opens the decision records with a manual clock, and collects everything that they write. */
function recorded() {
  const clock = { ms: START_MS, isKafkaAway: false }
  const written = { traffic: [] as LimitTraffic[], violations: [] as LimitViolation[] }
  const facts = {
    openLog: async (topic: AnyTopic) => {
      if (clock.isKafkaAway) throw new Error('no broker')
      const into = (topic === limitTraffic ? written.traffic : written.violations) as unknown[]
      return {
        append(_key: string, value: unknown, receipt: Receipt) {
          into.push(value)
          queueMicrotask(() => receipt.settled(1, undefined))
        },
      }
    },
  }
  const records = decisionRecords({ facts: facts as never, registry: new Registry(), log: createLogger('silent'), now: () => clock.ms })
  const ask = (path: string, verdict: Verdict = ALLOWED, caller = ACME, more: { method?: string; cost?: number } = {}) =>
    records.listen({ method: 'GET', path, caller, ...more }, verdict)
  return { clock, written, ask, tick: records.tick, close: () => records.close(CLOSE_MS) }
}

test('a violation of a rule is written once per client and second', async () => {
  const { clock, written, ask, close } = recorded()
  for (let request = 0; request < 3; request++) ask('/a', REFUSED)
  ask('/a', REFUSED, { ...ACME, clientId: 'other' })
  clock.ms += 1_000
  ask('/b', REFUSED)
  await close()
  expect(written.violations.map(({ at, client_id, path }) => [at - START_MS, client_id, path])).toEqual([
    [0, 'acme', '/a'],
    [0, 'other', '/a'],
    [1_000, 'acme', '/b'],
  ])
  expect(written.violations[0]).toMatchObject({ rule_id: 'two', method: 'GET', action: 'reject', estimate: 2, limit_count: 2 })
})

test('requests of a second are counted by kind, with their cost, and callers that a draft rule would distinguish are counted separately', async () => {
  const { clock, written, ask, tick, close } = recorded()
  ask('/a')
  ask('/a', REFUSED)
  ask('/a', REFUSED, ACME, { cost: 5 })
  ask('/a', ALLOWED, ACME, { method: 'HEAD' })
  ask('/a', ALLOWED, { ...ACME, apiKeyId: 'k2' })
  ask('/a', ALLOWED, { ...ACME, tier: 'free' })
  ask('/a', ALLOWED, { ...ACME, userId: '42' })
  ask('/b')
  tick()
  expect(written.traffic).toEqual([])
  clock.ms += 1_000
  tick()
  clock.ms += 1_000
  tick()
  await close()
  expect(written.traffic).toHaveLength(1)
  const [{ second, entries, left_out }] = written.traffic
  expect([second, left_out]).toEqual([START_MS, 0])
  expect(
    entries.map(({ path, tier, api_key_id, user_id, requests, refused }) => [path, tier, api_key_id, user_id, requests, refused]),
  ).toEqual([
    ['/a', 'pro', 'k1', '', 8, 6],
    ['/a', 'pro', 'k2', '', 1, 0],
    ['/a', 'free', 'k1', '', 1, 0],
    ['/a', 'pro', 'k1', '42', 1, 0],
    ['/b', 'pro', 'k1', '', 1, 0],
  ])
})

test('after the clock is set back, the record of a repeated second does not replace the earlier record of that second', async () => {
  const { clock, written, ask, tick, close } = recorded()
  const pass = (ms: number) => {
    clock.ms += ms
    tick()
  }
  ask('/a')
  pass(1_000)
  ask('/a')
  pass(-1_000)
  ask('/a')
  pass(1_000)
  ask('/a')
  pass(1_000)
  await close()
  expect(written.traffic.map(({ second, entries }) => [second - START_MS, entries[0].requests])).toEqual([
    [0, 1],
    [1_000, 1],
    [0, 1],
    [1_000, 1],
  ])
  expect(new Set(written.traffic.map(({ second, node }) => `${second} ${node}`)).size).toBe(4)
})

test('above the maximum number of kinds, requests of further kinds are counted as left out, and paths are truncated to 200 characters', async () => {
  const { written, ask, close } = recorded()
  const long = `/${'a'.repeat(300)}`
  ask(long)
  ask(`${long}b`)
  for (let kind = 1; kind < MAX_KINDS; kind++) ask(`/${kind}`)
  for (let request = 0; request < 3; request++) ask('/one-too-many')
  ask('/1')
  await close()
  const [{ entries, left_out }] = written.traffic
  expect([entries.length, left_out]).toEqual([MAX_KINDS, 3])
  expect(entries[0]).toMatchObject({ path: long.slice(0, 200), requests: 2 })
  expect(entries[1].requests).toBe(2)
})

test('requests of seconds whose records were dropped, because Kafka was unavailable for too long, are counted as left out', async () => {
  const { clock, written, ask, tick, close } = recorded()
  const second = () => {
    ask('/a', ALLOWED, ACME, { cost: 2 })
    clock.ms += 1_000
    tick()
  }
  clock.isKafkaAway = true
  for (let kept = 0; kept < KEPT_SECONDS; kept++) second()
  for (let dropped = 0; dropped < 3; dropped++) second()
  clock.isKafkaAway = false
  await expect.poll(() => written.traffic.length, SOON).toBe(KEPT_SECONDS)
  for (let afterwards = 0; afterwards < 2; afterwards++) second()
  await close()
  expect(written.traffic.map(({ left_out }) => left_out).slice(-3)).toEqual([0, 6, 0])
})

test('the record of a second fits into a Kafka batch, even after 5,000 requests with different clients and long paths', async () => {
  const { written, ask, close } = recorded()
  const asked = 5_000
  for (let request = 0; request < asked; request++) {
    const ip = `2001:db8:1111:2222:3333:4444:5555:${request.toString(16)}`
    ask(`/${'ä'.repeat(300)}`, ALLOWED, { clientId: `ip:${ip}`, tier: 'anonymous', ip })
  }
  await close()
  const [record] = written.traffic
  const out = byteWriter()
  limitTraffic.value.open(0, { get: () => undefined }).encode(record, out)
  expect(out.length).toBeLessThan(DEFAULT_MAX_BATCH_BYTES)
  expect(record.entries.length).toBeGreaterThan(1_000)
  expect(record.entries.length + record.left_out).toBe(asked)
})

test('the records of a second can be encoded even if a long path is cut within a character', async () => {
  const { written, ask, close } = recorded()
  ask(`/${'a'.repeat(198)}😀`, REFUSED)
  await close()
  const traffic = limitTraffic.value.open(0, { get: () => undefined })
  const violations = limitViolations.value.open(0, { get: () => undefined })
  expect(() => traffic.encode(written.traffic[0], byteWriter())).not.toThrow()
  expect(() => violations.encode(written.violations[0], byteWriter())).not.toThrow()
})
