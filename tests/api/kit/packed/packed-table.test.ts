import { existsSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { packedTableMetrics } from '../../../../api/kit/packed/observe.ts'
import { snapshotPath } from '../../../../api/kit/snapshots/checked-file.ts'
import { EPOCH } from '../../../kafka/in-epoch.ts'
import { newBroker, put, reports, SOON, tableFolder, tableWorld } from './table-world.ts'

const HOUR_MS = 3_600_000
/** A silence of Kafka that is long enough to make the table stale, in ms. */
const SILENCE_MS = 6_000
const NOT_READY = expect.objectContaining({ definition: expect.objectContaining({ code: 'not_ready' }) })

test('the table contains the last value of every key, and no deleted keys', async () => {
  const change = fc.tuple(
    fc.integer({ min: 0, max: 40 }).map((number) => `key ${number}`),
    fc.option(fc.nat({ max: 2 ** 32 - 1 }), { nil: undefined }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(change), fc.array(change), async (before, after) => {
      const world = await tableWorld({})
      for (const [key, value] of before) world.put(key, value?.toString())
      const { table, close } = await world.open()
      await expect.poll(() => reports(table), SOON).toEqual({})
      for (const [key, value] of after) world.put(key, value?.toString())
      const expected = new Map([...before, ...after])
      for (const [key, value] of expected) await expect.poll(() => table.get(key), SOON).toBe(value)
      expect(table.size).toBe([...expected.values()].filter((value) => value !== undefined).length)
      await close()
    }),
    { numRuns: 15 },
  )
})

test('the table answers not_ready until it has read to the end, because until then a missing key proves nothing', async () => {
  const world = await tableWorld({})
  world.put('a', '5')
  const { table } = await world.open(true)
  expect(() => table.get('a')).toThrow(NOT_READY)
  expect(Object.keys(await reports(table))).toEqual(['table entries'])
  expect(table.staleMs).toBe(Number.POSITIVE_INFINITY)
  world.state.aheadMs += SILENCE_MS
  // Without a snapshot, the table has no entries to serve.
  await expect.poll(() => world.events('global_table_interrupted').length, SOON).toBeGreaterThan(0)
  expect(() => table.get('a')).toThrow(NOT_READY)
  world.state.isAway = false
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([table.get('a'), table.get('b'), table.isFromSnapshot, table.isStale]).toEqual([5, undefined, false, false])
})

test('an expired entry is not returned, even while it is still stored', async () => {
  const world = await tableWorld({})
  const expiry = Date.now() + HOUR_MS
  world.put('a', `5@${expiry}`)
  world.put('b', '6')
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([table.get('a'), table.get('b')]).toEqual([5, 6])
  world.state.aheadMs += HOUR_MS + 1_000
  expect([table.get('a'), table.get('b'), table.size]).toEqual([undefined, 6, 2])
})

test('an expiry that is too late for the table to store does not wrap around to an early one', async () => {
  const world = await tableWorld({})
  world.put('late', `5@${(2 ** 32 + 1) * 1_000}`)
  world.put('over', '6@0')
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([table.get('late'), table.get('over')]).toEqual([5, undefined])
})

test('the table skips and logs a record that it cannot read, and contains all other records', async () => {
  const world = await tableWorld({})
  world.put('a', '1')
  world.put('a', 'not a number')
  world.put('b', '2')
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([table.get('a'), table.get('b'), world.events('global_table_bad_record').length]).toEqual([1, 2, 1])
})

test('the table reports that it is stale while Kafka is silent, and continues afterwards', async () => {
  const world = await tableWorld({})
  world.put('a', '1')
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  await world.goAway()
  world.state.aheadMs += SILENCE_MS
  world.put('a', '2')
  expect([table.isStale, table.isFromSnapshot, table.get('a')]).toEqual([true, false, 1])
  expect(await reports(table)).toEqual({ 'news of table entries': expect.stringMatching(/has not been updated for \d+ s/) })
  const [required, optional] = table.probes
  expect([required.optional, optional.optional]).toEqual([undefined, true])
  world.state.isAway = false
  await expect.poll(() => [table.isStale, table.get('a')], SOON).toEqual([false, 2])
  expect(await reports(table)).toEqual({})
})

test('after a gap in which Kafka may have removed tombstones, the table reads the topic again, and answers in the meantime', async () => {
  const world = await tableWorld({})
  world.put('a', '1')
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  await world.goAway()
  world.state.aheadMs += 13 * HOUR_MS
  world.state.isAway = false
  await expect.poll(() => world.events('table_starts_over').length, SOON).toBe(1)
  expect(table.get('a')).toBe(1)
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([table.get('a'), world.begun.at(-1)]).toEqual([1, [0, 0, 0]])
})

test('if the topic has lost records, the table reads it again and then contains only what the topic still contains', async () => {
  const world = await tableWorld({})
  for (const [key, value] of [['a', '1'], ['a', '2'], ['b', '3'], ['d', '4']]) world.put(key, value) // biome-ignore format: short
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  // The transport does not report that the topic was created again, so the log seems to have lost its last records.
  const spec = world.broker.topic('entries')
  world.broker.deleteTopic('entries')
  world.broker.createTopic(spec)
  for (const [key, value] of [['a', '1'], ['b', '3']]) world.put(key, value) // biome-ignore format: short
  await expect.poll(() => world.events('table_starts_over').length, SOON).toBe(1)
  // The table answers with its earlier entries until it has read the topic.
  await expect.poll(() => ['a', 'b', 'd'].map((key) => table.get(key)), SOON).toEqual([1, 3, undefined])
  expect(await reports(table)).toEqual({})
})

describe('a snapshot', () => {
  /** Writes a snapshot of some entries. */
  async function saved() {
    const [folder, broker] = [tableFolder(), newBroker()]
    const world = await tableWorld({ folder, broker })
    for (const [key, value] of [['a', '1'], ['b', '2'], ['c', '3'], ['d', `4@${Date.now() + HOUR_MS}`]]) world.put(key, value) // biome-ignore format: short
    const { table, close } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    await close()
    return { folder, broker }
  }

  test('is used if Kafka is unreachable at the start, and the table reports this until Kafka is back', async () => {
    const { folder, broker } = await saved()
    put(broker, 'a', undefined)
    put(broker, 'b', '22')
    const world = await tableWorld({ folder, broker })
    const { table } = await world.open(true)
    expect(() => table.get('a')).toThrow(NOT_READY)
    world.state.aheadMs += SILENCE_MS
    await expect
      .poll(() => reports(table), SOON)
      .toEqual({
        'news of table entries': expect.stringMatching(/a snapshot of entries is in use and has not been updated for \d+ s: no broker/),
      })
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => table.get(key))).toEqual([1, 2, 3, 4, undefined])
    expect([table.isFromSnapshot, table.isStale]).toEqual([true, true])
    const registry = new Registry()
    packedTableMetrics(registry)('entries', table)
    expect(await registry.metrics()).toMatch(
      /packed_table_from_snapshot\{topic="entries"\} 1[\s\S]*packed_table_entries\{topic="entries"\} 4/,
    )
    world.state.isAway = false
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(['a', 'b', 'c'].map((key) => table.get(key))).toEqual([undefined, 22, 3])
    expect([table.isFromSnapshot, table.isStale]).toEqual([false, false])
  })

  test('lets the table continue reading at the offsets of the snapshot', async () => {
    const { folder, broker } = await saved()
    put(broker, 'a', '11')
    const world = await tableWorld({ folder, broker })
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(['a', 'b', 'c', 'd'].map((key) => table.get(key))).toEqual([11, 2, 3, 4])
    expect(world.begun[0].reduce((sum, offset) => sum + offset, 0)).toBe(4)
  })

  test('does not show entries that have expired since', async () => {
    const { folder, broker } = await saved()
    const world = await tableWorld({ folder, broker })
    world.state.aheadMs += 2 * HOUR_MS
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(table.get('d')).toBeUndefined()
  })

  test('is loaded with entries that seem to have expired because the clock is ahead, and these are returned after the clock is set back', async () => {
    const { folder, broker } = await saved()
    const world = await tableWorld({ folder, broker })
    world.state.aheadMs += 2 * HOUR_MS
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(table.get('d')).toBeUndefined()
    world.state.aheadMs -= 2 * HOUR_MS
    expect(table.get('d')).toBe(4)
  })

  test('an old snapshot is used while Kafka is unreachable, but the table does not continue from it, because tombstones may have been removed', async () => {
    const { folder } = await saved()
    // A compacted log that no longer contains any record of `a`. Its offsets are consistent with those of the snapshot.
    const broker = newBroker()
    for (const [key, value] of [['b', '2'], ['b', '2'], ['c', '3'], ['c', '3'], ['d', '4'], ['d', '4']]) put(broker, key, value) // biome-ignore format: short
    const world = await tableWorld({ folder, broker })
    world.state.aheadMs += 13 * HOUR_MS
    const { table } = await world.open(true)
    world.state.aheadMs += SILENCE_MS
    await expect.poll(() => table.isFromSnapshot, SOON).toBe(true)
    expect(table.get('a')).toBe(1)
    expect(table.staleMs).toBeGreaterThan(13 * HOUR_MS)
    world.state.isAway = false
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(['a', 'b', 'c', 'd'].map((key) => table.get(key))).toEqual([undefined, 2, 3, 4])
  })

  test('is not used as a starting point if it becomes too old while Kafka is unreachable', async () => {
    const { folder } = await saved()
    const broker = newBroker()
    for (const [key, value] of [['b', '2'], ['b', '2'], ['c', '3'], ['c', '3'], ['d', '4'], ['d', '4']]) put(broker, key, value) // biome-ignore format: short
    const world = await tableWorld({ folder, broker })
    world.state.aheadMs += 7 * HOUR_MS
    const { table } = await world.open(true)
    world.state.aheadMs += 6 * HOUR_MS
    await expect.poll(() => table.isFromSnapshot, SOON).toBe(true)
    expect(table.get('a')).toBe(1)
    world.state.isAway = false
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect(['a', 'b', 'c', 'd'].map((key) => table.get(key))).toEqual([undefined, 2, 3, 4])
    expect(world.events('table_starts_over')).toHaveLength(1)
  })

  test('is not used as a starting point if its offsets do not exist in the topic', async () => {
    const { folder } = await saved()
    const broker = newBroker()
    put(broker, 'z', '26')
    const world = await tableWorld({ folder, broker })
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect([table.get('a'), table.get('z'), world.events('table_starts_over').length]).toEqual([undefined, 26, 1])
  })

  test('is not used if its topic was deleted and created again, even if its offsets exist in the new topic', async () => {
    const { folder, broker } = await saved()
    const spec = broker.topic('entries')
    broker.deleteTopic('entries')
    broker.createTopic(spec)
    for (const [key, value] of [['a', '9'], ['b', '2'], ['c', '3'], ['d', '4']]) put(broker, key, value) // biome-ignore format: short
    const world = await tableWorld({ folder, broker })
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect([table.get('a'), world.events('table_starts_over').length]).toEqual([9, 1])
  })

  test('is written at intervals, so that even a killed process leaves a snapshot', async () => {
    const folder = tableFolder()
    const world = await tableWorld({ folder, intervalMs: 20 })
    world.put('a', '1')
    const { table } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    await expect.poll(() => existsSync(snapshotPath(folder, 'entries')), SOON).toBe(true)
    const before = readFileSync(snapshotPath(folder, 'entries'))
    world.put('a', '99')
    await expect.poll(() => readFileSync(snapshotPath(folder, 'entries')).equals(before), SOON).toBe(false)
    const next = await tableWorld({ folder })
    const other = await next.open(true)
    next.state.aheadMs += SILENCE_MS
    await expect.poll(() => other.table.isFromSnapshot, SOON).toBe(true)
    expect(other.table.get('a')).toBe(99)
  })

  test('is not written by a stale table, because the snapshot would look newer than its contents', async () => {
    const { folder, broker } = await saved()
    const world = await tableWorld({ folder, broker })
    const { table, close } = await world.open()
    await expect.poll(() => reports(table), SOON).toEqual({})
    const before = readFileSync(snapshotPath(folder, 'entries'))
    put(broker, 'a', '99')
    await expect.poll(() => table.get('a'), SOON).toBe(99)
    await world.goAway()
    world.state.aheadMs += SILENCE_MS
    await close()
    expect(readFileSync(snapshotPath(folder, 'entries')).equals(before)).toBe(true)
  })
})

test('a table that continues from its snapshot resumes with the stored leader epochs, so that a loss of records since the snapshot is detected', async () => {
  const world = await tableWorld({})
  for (const key of ['a', 'b', 'c']) world.put(key, '1')
  const first = await world.open()
  await expect.poll(() => reports(first.table), SOON).toEqual({})
  await first.close()
  world.state.epochs.length = 0
  const { table } = await world.open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect(world.state.epochs).toEqual([EPOCH, EPOCH, EPOCH])
})
