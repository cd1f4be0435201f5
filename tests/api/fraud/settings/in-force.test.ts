import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { openSettingsInForce } from '../../../../api/fraud/settings-in-force.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { smallTableOpener } from '../../../../api/kit/small-table/open.ts'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { openSerdes } from '../../../../kafka/serdes.ts'
import { NO_SETTING } from '../../../../pipelines/fraud/settings/decide.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { fraudRulesets } from '../../../../schemas/fraud/topics.ts'
import type { FraudRule, FraudSetting } from '../../../../schemas/fraud/types.ts'
import { ruleOf } from '../../../pipelines/fraud/settings-commands.ts'
import { reports, SOON, tableFolder } from '../../kit/packed/table-world.ts'
import { breakableTransport } from '../../kit/snapshots/breakable-transport.ts'

/** If Kafka is silent for this time, settings count as stale. */
const SILENCE_MS = 6_000
const NOT_READY = expect.objectContaining({ definition: expect.objectContaining({ code: 'not_ready' }) })

async function world() {
  const broker = memoryBroker()
  broker.createTopic({ name: fraudRulesets.name, partitions: 1 })
  const registry = memoryRegistry()
  const serdes = await openSerdes(registry, [fraudRulesets])
  const codec = serdes.codecFor(fraudRulesets)
  const folder = tableFolder()
  const state = { isAway: false, aheadMs: 0 }
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })

  function put(key: string, setting: Partial<FraudSetting>): void {
    const out = byteWriter()
    codec.encode({ ...NO_SETTING, ...setting }, out)
    const value = Buffer.from(out.buffer.subarray(0, out.length))
    broker.append(fraudRulesets.name, 0, { timestamp: 1, key: Buffer.from(key), value, headers: [] })
  }

  async function open(isAway = false) {
    state.isAway = isAway
    const clocks = { now: () => Date.now() + state.aheadMs, monotonic: () => performance.now() + state.aheadMs }
    const tables = { transport: breakableTransport(broker, state), registry, folder, metrics: new Registry(), log, ...clocks }
    const settings = await openSettingsInForce({ smallTables: smallTableOpener(tables), log })
    let isClosed = false
    async function close(): Promise<void> {
      if (!isClosed) await settings.close()
      isClosed = true
    }
    onTestFinished(close)
    return { settings, close }
  }

  return { state, lines, put, open }
}

function ruleSet(version: number, rules: FraudRule[]): Partial<FraudSetting> {
  return { rules: { version, rules, history: [] } }
}

test('without any record, the seeded rules and the default policy are in force', async () => {
  const { open } = await world()
  const { settings } = await open()
  await expect.poll(() => reports(settings), SOON).toEqual({})
  expect(settings.ruleSet.rules.map(({ rule }) => rule)).toEqual(SEEDED_RULES)
  expect([settings.ruleSet.version, settings.ruleSet.broken, settings.policy, settings.isStale]).toEqual([0, [], DEFAULT_POLICY, false])
})

test('access to the settings throws not_ready until they have been read', async () => {
  const { open } = await world()
  const { settings } = await open(true)
  expect(() => settings.ruleSet).toThrow(NOT_READY)
  expect(() => settings.policy).toThrow(NOT_READY)
  await expect(settings.untilSeen(1)).rejects.toThrow(NOT_READY)
})

test('a process that starts while Kafka is unreachable uses its last settings, and reports them as stale', async () => {
  const { state, put, open } = await world()
  put('rules', ruleSet(4, [ruleOf('v')]))
  put('list:mules', { list: { name: 'mules', values: ['a', 'b'], updated_by: 'olga', created_at: 1, updated_at: 2 } })
  const about = { snooze_id: 's', rule_id: 'v', entity_type: 'USER' as const, entity_value: 'u1' }
  put('snooze:s', { snooze: { ...about, until: 9, reason: null, created_by: 'olga', created_at: 1 } })
  const first = await open()
  await expect.poll(() => reports(first.settings), SOON).toEqual({})
  await first.close()
  put('rules', ruleSet(5, []))

  const { settings } = await open(true)
  state.aheadMs += SILENCE_MS
  await expect.poll(() => readable(settings), SOON).toBe(true)
  expect([settings.ruleSet.version, settings.ruleSet.live.map(({ rule }) => rule.rule_id), settings.isStale]).toEqual([4, ['v'], true])
  expect([settings.lists.get('mules'), settings.list('mules')?.updated_at, settings.snoozes.get('v')?.get('USER:u1')]).toEqual([
    new Set(['a', 'b']),
    2,
    { created_at: 1, until: 9 },
  ])
  state.isAway = false
  await expect.poll(() => settings.ruleSet.version, SOON).toBe(5)
  await expect.poll(() => settings.isStale, SOON).toBe(false)
})

test('a rule that cannot be used is set aside and logged, and unchanged conditions are not compiled again', async () => {
  const { put, open, lines } = await world()
  put('rules', ruleSet(1, [ruleOf('v'), ruleOf('old', { condition: 'txn.no_longer > 1' })]))
  const { settings } = await open()
  await expect.poll(() => reports(settings), SOON).toEqual({})
  expect([settings.ruleSet.rules.length, settings.ruleSet.broken.map(({ rule }) => rule.rule_id)]).toEqual([1, ['old']])
  expect(lines.filter(({ event }) => event === 'fraud_rule_set_aside')).toMatchObject([
    { rule_id: 'old', fault: expect.stringContaining('column 1') },
  ])
  const [{ condition }] = settings.ruleSet.rules
  const { tallies } = settings
  put('list:mules', { list: { name: 'mules', values: [], updated_by: 'olga', created_at: 1, updated_at: 2 } })
  await expect.poll(() => settings.lists.has('mules'), SOON).toBe(true)
  expect([settings.tallies === tallies, settings.ruleSet.version]).toEqual([true, 1])
  put('rules', ruleSet(2, [ruleOf('v', { priority: 9 })]))
  await expect.poll(() => settings.ruleSet.version, SOON).toBe(2)
  expect([settings.ruleSet.rules[0].condition === condition, settings.tallies === tallies]).toEqual([true, false])
})

function readable(settings: { readonly ruleSet: unknown }): boolean {
  try {
    return settings.ruleSet !== undefined
  } catch {
    return false
  }
}
