import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../../api/kit/redis.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import type { FraudRuleTallies, FraudRuleTally } from '../../../../schemas/fraud/types.ts'
import { fraudRuleTalliesTable, readRuleHours } from '../../../../state/tables/fraud/rule-tallies.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { addBlocks, claimGuard, releaseGuard } from '../../../../state/views/fraud/recent-blocks.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../schemas/fraud/payments.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { newRedis } from '../../../stack/servers.ts'
import { testDatabase } from '../../../state/tables/database.ts'

const NOW = Math.floor(Date.now() / HOUR) * HOUR
const PATIENT = { timeoutMs: 30_000, intervalMs: 20 }

function tallyOf(rule_id: string, given: Partial<FraudRuleTally> = {}): FraudRuleTally {
  const counts = { evaluated: 0, matched: 0, decided: 0, snoozed: 0, failed: 0, skipped: 0, missing: 0 }
  return { rule_id, mode: 'live', ...counts, missing_by: {}, ...given }
}

test('the table adds up the latest counts of all processes, by hour and mode', async () => {
  const { client } = await testDatabase()
  const store = tableStore(fraudRuleTalliesTable, client, { cluster: undefined })
  await store.prepare()
  let offset = 0
  const publish = async (node: string, hour: number, ...rules: FraudRuleTally[]) => {
    const record: FraudRuleTallies = { node, hour, rules }
    const rows = fraudRuleTalliesTable.rowsOf(node, record).map((row) => ({ offset: offset++, row }))
    await store.insert({ topic: 'fraud-rule-tallies', partition: 0, rows })
  }
  const missing = (times: number) => ({ missing: times, missing_by: { 'ip.is_tor': times, 'list:gone': 1 } })
  await publish('one', NOW - HOUR, tallyOf('a', { evaluated: 9, matched: 2, decided: 1 }), tallyOf('b', { evaluated: 7 }))
  await publish('one', NOW, tallyOf('a', { evaluated: 1, ...missing(1) }))
  await publish('one', NOW, tallyOf('a', { evaluated: 5, ...missing(3) }))
  await publish(
    'two',
    NOW,
    tallyOf('a', { evaluated: 10, failed: 1, ...missing(2) }),
    tallyOf('a', { mode: 'shadow', evaluated: 4, skipped: 2 }),
  )
  await publish('one', NOW - 7 * DAY, tallyOf('a', { evaluated: 100 }))
  const none = { matched: 0, decided: 0, snoozed: 0, failed: 0, skipped: 0, missing: 0, missing_by: {} }
  expect(await readRuleHours(client, 'a', NOW - 7 * DAY + HOUR)).toEqual([
    { ...none, hour: NOW - HOUR, mode: 'live', evaluated: 9, matched: 2, decided: 1 },
    { ...none, hour: NOW, mode: 'live', evaluated: 15, failed: 1, missing: 5, missing_by: { 'ip.is_tor': 5, 'list:gone': 2 } },
    { ...none, hour: NOW, mode: 'shadow', evaluated: 4, skipped: 2 },
  ])
  expect(await readRuleHours(client, 'c', 0)).toEqual([])
})

async function scriptsOnRedis(): Promise<ViewScripts> {
  const folder = guardedFolder()
  const server = await newRedis(folder.path)
  await server.start()
  const redis = connectViewRedis({ url: server.address, cluster: false, log: createLogger('silent'), monotonic: () => performance.now() })
  onTestFinished(() => redis.close())
  const ping = () => redis.scripts.run({ name: 'one', source: 'return 1' }, ['any'], [])
  await waitUntil(
    () =>
      ping().then(
        () => true,
        () => false,
      ),
    { what: 'Redis', ...PATIENT },
  )
  return redis.scripts
}

test('every process gets the total counts of the last five minutes, and only one process may act on them', async () => {
  const scripts = await scriptsOnRedis()
  const count = (scored: number, blocked: Record<string, number> = {}) => ({ scored, blocked: new Map(Object.entries(blocked)) })
  expect(await addBlocks(scripts, NOW, count(0))).toEqual(count(0))
  await addBlocks(scripts, NOW, count(100, { 'rule:1:a': 3 }))
  expect(await addBlocks(scripts, NOW + SECOND, count(50, { 'rule:1:a': 1, models: 2 }))).toEqual(count(150, { 'rule:1:a': 4, models: 2 }))
  expect(await addBlocks(scripts, NOW + 4 * MINUTE, count(10, { models: 1 }))).toEqual(count(160, { 'rule:1:a': 4, models: 3 }))
  expect(await addBlocks(scripts, NOW + 5 * MINUTE, count(1))).toEqual(count(11, { models: 1 }))
  const tokens = Array.from({ length: 5 }, () => randomUUID())
  const claim = (token: string) => claimGuard(scripts, token, 5 * MINUTE)
  const claims = await Promise.all(tokens.map(claim))
  expect(claims.filter((claimed) => claimed)).toHaveLength(1)
  // A process that did not receive the answer repeats its claim.
  expect(await Promise.all(tokens.map(claim))).toEqual(claims)
  await releaseGuard(scripts, tokens[claims.indexOf(false)])
  expect(await claim('a')).toBe(false)
  await releaseGuard(scripts, tokens[claims.indexOf(true)])
  expect(await claim('a')).toBe(true)
})
