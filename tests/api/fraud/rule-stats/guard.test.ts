import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { blockGuard } from '../../../../api/fraud/rule-stats/guard.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { MINUTE, NOON } from '../../../schemas/fraud/payments.ts'

function ruleOf(rule_id: string, given: Partial<Rule> = {}): Rule {
  return { ...SEEDED_RULES[0], rule_id, condition: 'txn.amount > 100', action: 'BLOCK', ...given }
}

const OLD = ruleOf('old', { updated_at: 1 })
const NEW = ruleOf('new', { updated_at: 2 })
const NEWEST_REVIEW = ruleOf('review', { updated_at: 3, action: 'REVIEW' })
const RULES = [OLD, NEW, NEWEST_REVIEW]

/** Implements the Redis scripts in memory. */
function fakeRedis(now: () => number) {
  const slots = new Map<string, Map<string, number>>()
  let claim: { readonly token: unknown; readonly until: number } | undefined
  const redis = {
    isAway: false,
    /** Name of a script whose next answer is lost, although the script runs. */
    late: undefined as string | undefined,
  }
  function answerTo(name: string, args: readonly unknown[]): number {
    const isFree = claim === undefined || now() >= claim.until || claim.token === args[0]
    if (isFree) claim = name === 'claim-guard' ? { token: args[0], until: now() + Number(args[1]) } : undefined
    return Number(isFree)
  }
  const scripts: ViewScripts = {
    async run({ name }, keys, args) {
      if (redis.isAway) throw new Error('Redis is unreachable.')
      if (name === 'claim-guard' || name === 'release-guard') {
        const answer = answerTo(name, args)
        if (redis.late !== name) return answer
        redis.late = undefined
        throw new Error('Redis answered too late.')
      }
      const slot = slots.get(keys[0]) ?? new Map<string, number>()
      slots.set(keys[0], slot)
      for (let at = 0; at + 1 < args.length; at += 2) slot.set(String(args[at]), (slot.get(String(args[at])) ?? 0) + Number(args[at + 1]))
      return keys.flatMap((key) => [...(slots.get(key) ?? [])].flatMap(([field, count]) => [field, String(count)]))
    },
  }
  return { scripts, redis }
}

function world({ rules = RULES, acts = true } = {}) {
  const clock = { now: NOON }
  const now = () => clock.now
  const { scripts, redis } = fakeRedis(now)
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const moveToShadow = vi.fn(async (_rule: Rule) => undefined)
  const process = () => {
    const registry = new Registry()
    const deps = { scripts, registry, log, now, ruleSet: () => compileRuleSet(1, rules), moveToShadow: acts ? moveToShadow : undefined }
    const guard = blockGuard(deps)
    const score = (count: number, decision: 'APPROVE' | 'BLOCK', reason: 'rule' | 'models' | 'no_risk_found', winner?: Rule) => {
      for (let at = 0; at < count; at++) guard.scored({ winner, verdict: { decision, reason } })
    }
    return {
      guard,
      registry,
      approve: (count: number) => score(count, 'APPROVE', 'no_risk_found'),
      block: (count: number, by?: Rule) => score(count, 'BLOCK', by ? 'rule' : 'models', by),
    }
  }
  return { clock, redis, lines, moveToShadow, process, messages: () => lines.map(({ event }) => event) }
}

const metricOf = async (registry: Registry, name: string) => (await registry.getSingleMetric(name)!.get()).values[0].value

test('blocks of up to 1 % of 1,000 transactions raise no alert', async () => {
  const { process, messages, moveToShadow } = world()
  const { guard, approve, block } = process()
  approve(990)
  block(10, NEW)
  await guard.tick()
  expect(await guard.probe.check()).toBeUndefined()
  expect([messages(), moveToShadow.mock.calls]).toEqual([[], []])
})

test('fewer than 1,000 transactions do not raise an alert', async () => {
  const { process, messages } = world()
  const { guard, block } = process()
  block(999, NEW)
  await guard.tick()
  expect([await guard.probe.check(), messages()]).toEqual([undefined, []])
})

test('while more than 1 % of the transactions of all processes are blocked, each process reports one alert, which names the causes', async () => {
  const { process, messages, lines, clock } = world({ acts: false })
  const [one, other] = [process(), process()]
  one.approve(900)
  one.block(5, OLD)
  other.approve(80)
  other.block(10, NEW)
  other.block(5)
  await one.guard.tick()
  expect(await one.guard.probe.check()).toBeUndefined()
  await other.guard.tick()
  await one.guard.tick()
  await one.guard.tick()
  expect(await one.guard.probe.check()).toBe(
    '2.0 % of 1000 transactions were blocked in five minutes, by rule new (10), rule old (5), models (5)',
  )
  expect([await metricOf(one.registry, 'fraud_blocks_alert'), await metricOf(one.registry, 'fraud_blocked_ratio')]).toEqual([1, 0.02])
  expect(messages()).toEqual(['fraud_blocks_too_many', 'fraud_blocks_too_many'])
  expect(lines[0]).toMatchObject({ transactions: 1_000, blocked: { 'rule new': 10, 'rule old': 5, models: 5 } })
  clock.now += 5 * MINUTE
  await one.guard.tick()
  expect(await one.guard.probe.check()).toBeUndefined()
  expect(await metricOf(one.registry, 'fraud_blocks_alert')).toBe(0)
  expect(messages().at(-1)).toBe('fraud_blocks_normal')
})

test('the guard moves the blocking rule that was changed last to shadow mode, once for all processes, and the next one after five minutes', async () => {
  const { process, moveToShadow, clock } = world()
  const [one, other] = [process(), process()]
  one.approve(1_000)
  one.block(30, OLD)
  one.block(1, NEW)
  await one.guard.tick()
  await other.guard.tick()
  await one.guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW]])
  clock.now += 5 * MINUTE
  one.approve(1_000)
  one.block(30, OLD)
  await Promise.all([one.guard.tick(), other.guard.tick()])
  expect(moveToShadow.mock.calls).toEqual([[NEW], [OLD]])
})

test('the guard moves no rule if the rules alone block at most 1 % of the transactions', async () => {
  const { process, moveToShadow, messages } = world()
  const { guard, approve, block } = process()
  approve(1_000)
  block(50)
  block(5, NEW)
  await guard.tick()
  expect([messages(), moveToShadow.mock.calls]).toEqual([['fraud_blocks_too_many'], []])
})

test.each([
  ['is no longer live', { ...NEW, mode: 'shadow' } as const],
  ['was changed since it blocked', { ...NEW, updated_at: 5 }],
])('a rule that %s is not moved', async (_, now) => {
  const { process, moveToShadow } = world({ rules: [OLD, now] })
  const { guard, approve, block } = process()
  approve(1_000)
  block(50, NEW)
  block(10, OLD)
  await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([])
  block(2, OLD)
  await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[OLD]])
})

test('if a move seems to fail but takes effect later, no process moves another rule', async () => {
  const rules = [OLD, NEW]
  const { process, moveToShadow } = world({ rules })
  const [one, other] = [process(), process()]
  moveToShadow.mockRejectedValueOnce(new Error('Kafka answered too late.'))
  one.approve(1_000)
  for (const rule of [OLD, NEW]) one.block(30, rule)
  await one.guard.tick()
  rules[1] = { ...NEW, mode: 'shadow' }
  for (const { guard } of [other, one, other, one]) await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW]])
})

test('if a move is refused because somebody else has changed the rule, the guard moves the next rule at its next tick', async () => {
  const rules = [OLD, NEW]
  const { process, moveToShadow } = world({ rules })
  const { guard, approve, block } = process()
  moveToShadow.mockRejectedValueOnce(new Error('Somebody else has changed the rule.'))
  approve(1_000)
  for (const rule of [OLD, NEW]) block(30, rule)
  await guard.tick()
  rules[1] = { ...NEW, updated_at: 5 }
  await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW], [OLD]])
})

test('after two failed moves of one process, another process may move the rule', async () => {
  const { process, moveToShadow, messages } = world()
  const [one, other] = [process(), process()]
  for (let at = 0; at < 2; at++) moveToShadow.mockRejectedValueOnce(new Error('Kafka is unreachable.'))
  one.approve(1_000)
  one.block(50, NEW)
  for (const { guard } of [one, one, other]) await guard.tick()
  expect(moveToShadow).toHaveBeenCalledTimes(3)
  expect(messages().at(-1)).toBe('fraud_guard_moved_rule_to_shadow')
})

test('a tick during a slow move does not move another rule', async () => {
  const rules = [OLD, NEW]
  const { process, moveToShadow } = world({ rules })
  const { guard, approve, block } = process()
  moveToShadow.mockImplementationOnce(async () => {
    rules[1] = { ...NEW, mode: 'shadow' }
    await guard.tick()
  })
  approve(1_000)
  for (const rule of [OLD, NEW]) block(30, rule)
  await guard.tick()
  await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW]])
})

test('a failed move is tried again at the next tick', async () => {
  const { process, moveToShadow, messages } = world()
  moveToShadow.mockRejectedValueOnce(new Error('Kafka is unreachable.'))
  const { guard, approve, block } = process()
  approve(1_000)
  block(50, NEW)
  await guard.tick()
  await guard.tick()
  expect(moveToShadow).toHaveBeenCalledTimes(2)
  expect(messages()).toEqual(['fraud_blocks_too_many', 'fraud_guard_cannot_act', 'fraud_guard_moved_rule_to_shadow'])
})

test('if a process claims the right to act but gets the answer too late, it moves the rule at its next tick, and no other process does', async () => {
  const { process, redis, moveToShadow, clock } = world()
  const [one, other] = [process(), process()]
  one.approve(1_000)
  one.block(50, NEW)
  redis.late = 'claim-guard'
  await one.guard.tick()
  await other.guard.tick()
  expect(moveToShadow.mock.calls).toEqual([])
  await one.guard.tick()
  await one.guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW]])
  clock.now += 5 * MINUTE - 1
  one.approve(1_000)
  one.block(50, OLD)
  await one.guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW]])
})

test('a failed move is tried again at the next tick, even if Redis was unreachable or answered too late when the right to act was released', async () => {
  const { process, redis, moveToShadow } = world()
  const { guard, approve, block } = process()
  approve(1_000)
  block(50, NEW)
  moveToShadow.mockImplementationOnce(async () => {
    redis.isAway = true
    throw new Error('Kafka is unreachable.')
  })
  await guard.tick()
  redis.isAway = false
  moveToShadow.mockRejectedValueOnce(new Error('Kafka is unreachable.'))
  redis.late = 'release-guard'
  await guard.tick()
  await guard.tick()
  expect(moveToShadow.mock.calls).toEqual([[NEW], [NEW], [NEW]])
})

test('without Redis, a tick of the guard throws nothing and raises no alert', async () => {
  const { process, redis, messages } = world()
  const { guard, approve, block } = process()
  redis.isAway = true
  approve(1_000)
  block(50, NEW)
  await guard.tick()
  expect([await guard.probe.check(), messages()]).toEqual([undefined, []])
})

test('payments that were scored while Redis was unreachable for less than five minutes are counted afterwards', async () => {
  const { process, redis, clock, messages } = world()
  const { guard, approve, block } = process()
  const isAlarmedAfter = async (awayMs: number) => {
    redis.isAway = true
    approve(1_000)
    block(50, NEW)
    await guard.tick()
    clock.now += awayMs
    await guard.tick()
    redis.isAway = false
    await guard.tick()
    return (await guard.probe.check()) !== undefined
  }
  expect(await isAlarmedAfter(5 * MINUTE)).toBe(false)
  expect(messages()).toEqual([])
  expect(await isAlarmedAfter(5 * MINUTE - 1)).toBe(true)
})
