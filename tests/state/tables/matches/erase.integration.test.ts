import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { MatchProfile } from '../../../../schemas/matches/types.ts'
import { matchDeletionsTable } from '../../../../state/tables/matches/deletions.ts'
import { userEraser } from '../../../../state/tables/matches/erase.ts'
import { matchesTable } from '../../../../state/tables/matches/matches.ts'
import { matchSwipesTable } from '../../../../state/tables/matches/swipes.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import type { Row, Table } from '../../../../state/tables/table.ts'
import { ANN, BOB, CAT } from '../../../pipelines/matches/swipes.ts'
import { rowsOf, testDatabase } from '../database.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ONE_SERVER = { cluster: undefined }

async function world() {
  const { client } = await testDatabase()
  let offset = 0
  async function insert(table: Table<never, never>, row: Row | undefined): Promise<void> {
    const store = tableStore(table, client, ONE_SERVER)
    await store.prepare()
    if (row !== undefined) await store.insert({ topic: table.name, partition: 0, rows: [{ offset: offset++, row }] })
  }
  const swiped = (swiper_id: string, target_id: string, ts: number) => {
    const swipe = { swipe_id: randomUUID(), swiper_id, target_id, direction: 'LEFT', ts, duration_ms: null, position: null }
    return insert(matchSwipesTable, matchSwipesTable.rowsOf(swiper_id, swipe)[0])
  }
  const matched = (user_a: string, user_b: string, matched_at: number) => {
    const match = { match_id: randomUUID(), user_a, user_b, conversation_id: randomUUID(), matched_at }
    return insert(matchesTable, matchesTable.rowsOf(match.match_id, match)[0])
  }
  const profile = (user_id: string, deleted_at: number | null) => {
    const view = { user_id, deleted_at } as MatchProfile
    return insert(matchDeletionsTable, matchDeletionsTable.rowsOf(user_id, { view, result: null })[0])
  }
  const swipes = async () => {
    const rows = await rowsOf<{ pair: string }>(
      client,
      "SELECT concat(toString(swiper_id), ' ', toString(target_id)) AS pair FROM match_swipes ORDER BY ts",
    )
    return rows.map(({ pair }) => pair)
  }
  const matches = async () => await rowsOf<{ a: string }>(client, 'SELECT toString(user_a) AS a FROM matches')
  return { client, swiped, matched, profile, swipes, matches, eraser: userEraser(client, ONE_SERVER) }
}

test("rows of a deleted user vanish, even if they arrive late; rows of the user's new profile and of others stay", async () => {
  const { swiped, matched, profile, swipes, matches, eraser } = await world()
  const now = Date.now()
  const deletedAt = now - HOUR_MS
  await swiped(ANN, BOB, deletedAt - 3)
  await swiped(BOB, ANN, deletedAt - 2)
  await swiped(BOB, CAT, deletedAt - 1)
  await swiped(ANN, CAT, deletedAt + 1)
  await matched(ANN, BOB, deletedAt)
  await matched(BOB, CAT, deletedAt)
  await profile(CAT, null)
  expect(await eraser.run(now)).toMatchObject({ removed: 0 })
  await profile(ANN, deletedAt - DAY_MS)
  await profile(ANN, deletedAt)
  expect(await eraser.run(now)).toMatchObject({ removed: 3 })
  expect(await swipes()).toEqual([`${BOB} ${CAT}`, `${ANN} ${CAT}`])
  expect(await matches()).toEqual([{ a: BOB }])
  await swiped(ANN, BOB, deletedAt - 5)
  expect(await eraser.run(now)).toMatchObject({ removed: 1 })
  expect(await eraser.run(now)).toMatchObject({ removed: 0 })
  expect(await swipes()).toHaveLength(2)
})

test('for a day after an outage, every run repeats older deletions, because a deletion may reach the table only after the first of these runs', async () => {
  const { swiped, profile, client, eraser } = await world()
  await tableStore(matchesTable, client, ONE_SERVER).prepare()
  const start = Date.now() - 3 * DAY_MS
  await swiped(ANN, BOB, start)
  await profile(CAT, null)
  let now = start
  async function runFor(ms: number): Promise<number> {
    let removed = 0
    for (const until = now + ms; now < until; now += HOUR_MS) removed += (await eraser.run(now)).removed
    return removed
  }
  await runFor(2 * HOUR_MS)
  // During the outage, the eraser does not run, and the deletion does not arrive in the table.
  now += 2 * DAY_MS
  await runFor(HOUR_MS)
  await profile(ANN, start + DAY_MS)
  expect(await runFor(HOUR_MS)).toBe(1)
  // A day later, the old deletion is no longer repeated.
  await runFor(DAY_MS)
  await swiped(ANN, BOB, start)
  expect(await runFor(HOUR_MS)).toBe(0)
})

test('the first run repeats older deletions, in case no process was running when they arrived', async () => {
  const { swiped, profile, client } = await world()
  const now = Date.now()
  await swiped(ANN, BOB, now - 6 * DAY_MS)
  await profile(ANN, now - 5 * DAY_MS)
  await profile(CAT, null)
  const eraser = userEraser(client, ONE_SERVER)
  await tableStore(matchesTable, client, ONE_SERVER).prepare()
  expect(await eraser.run(now)).toMatchObject({ removed: 1 })
})
