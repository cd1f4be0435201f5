import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../../api/kit/logging.ts'
import { smallTable } from '../../../../api/kit/small-table/small-table.ts'
import { snapshotPath } from '../../../../api/kit/snapshots/checked-file.ts'
import { diskFiles } from '../../../../api/kit/spool/files.ts'
import { CodecError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { EPOCH } from '../../../kafka/in-epoch.ts'
import { newBroker, put, reports, SOON, tableFolder, topic } from '../packed/table-world.ts'
import { breakableTransport } from '../snapshots/breakable-transport.ts'

const HOUR_MS = 3_600_000
/** A silence of Kafka that is long enough to make the table stale, in ms. */
const SILENCE_MS = 6_000
const NOT_READY = expect.objectContaining({ definition: expect.objectContaining({ code: 'not_ready' }) })

/**
 * Creates a broker with a topic, and a function that opens a table. The table represents each value as the set of its
 * words.
 */
function world({ folder = tableFolder(), broker = newBroker(), version = 1, intervalMs = HOUR_MS } = {}) {
  const state = { isAway: false, aheadMs: 0, epochs: [] as (number | undefined)[] }
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const begun: number[][] = []
  let changes = 0

  async function open(isAway = false) {
    state.isAway = isAway
    const table = await smallTable<string, ReadonlySet<string>>({
      transport: breakableTransport(broker, state, begun),
      topic,
      values: utf8,
      holding: {
        version,
        hold(value) {
          if (value === '') throw new CodecError('there are no words')
          return new Set(value.split(' '))
        },
        save: (words) => [...words],
        load: (saved) => new Set(saved as string[]),
        onChange: () => void changes++,
      },
      loadSchema: async () => 'not-found',
      log,
      now: () => Date.now() + state.aheadMs,
      monotonic: () => performance.now() + state.aheadMs,
      snapshots: { folder, files: diskFiles, intervalMs },
    })
    let isClosed = false
    async function close(): Promise<void> {
      if (!isClosed) await table.close()
      isClosed = true
    }
    onTestFinished(close)
    const contents = () => Object.fromEntries([...table.entries()].map(([key, words]) => [key, [...words].join(' ')]))
    return { table, contents, close }
  }

  return {
    folder,
    broker,
    state,
    begun,
    open,
    changes: () => changes,
    events: (event: string) => lines.filter((line) => line.event === event),
  }
}

async function saved() {
  const { open, folder, broker } = world()
  put(broker, 'a', 'one two')
  put(broker, 'b', 'three')
  const { table, close } = await open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  await close()
  return { folder, broker }
}

test('the table contains the last value of every key, and reports changes', async () => {
  const { broker, open, changes, events } = world()
  put(broker, 'a', 'one')
  put(broker, 'b', 'two')
  put(broker, 'a', 'three three four')
  const { table, contents } = await open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([contents(), table.size, table.isStale, table.isFromSnapshot]).toEqual([{ a: 'three four', b: 'two' }, 2, false, false])
  const before = changes()
  put(broker, 'b', undefined)
  put(broker, 'a', '')
  put(broker, 'c', 'five')
  await expect.poll(contents, SOON).toEqual({ a: 'three four', c: 'five' })
  expect([changes() > before, events('global_table_bad_record').length]).toEqual([true, 1])
})

test('without a snapshot, the table is not ready until it has read the topic to its end, even if that takes longer than 5 s', async () => {
  const { broker, open, state, events, changes } = world()
  put(broker, 'a', 'one')
  const { table, contents } = await open(true)
  state.aheadMs += SILENCE_MS
  await expect.poll(() => events('global_table_interrupted').length, SOON).toBeGreaterThan(0)
  expect(() => table.entries()).toThrow(NOT_READY)
  expect([Object.keys(await reports(table)), changes()]).toEqual([['table entries'], 0])
  state.isAway = false
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect(contents()).toEqual({ a: 'one' })
})

test('if Kafka is unreachable at the start, the table answers from its snapshot and reports this until Kafka is back', async () => {
  const { folder, broker } = await saved()
  put(broker, 'a', undefined)
  const { open, state, begun, changes } = world({ folder, broker })
  const { table, contents } = await open(true)
  expect(() => table.entries()).toThrow(NOT_READY)
  state.aheadMs += SILENCE_MS
  await expect.poll(() => table.isFromSnapshot, SOON).toBe(true)
  expect([contents(), table.isStale, changes()]).toEqual([{ a: 'one two', b: 'three' }, true, 1])
  expect(Object.keys(await reports(table))).toEqual(['news of table entries'])
  state.isAway = false
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect([contents(), table.isFromSnapshot, table.isStale]).toEqual([{ b: 'three' }, false, false])
  // The table began to read after the two records that are in the snapshot.
  expect(begun[0].reduce((sum, offset) => sum + offset, 0)).toBe(2)
})

test('the table reports that it is stale while Kafka is silent', async () => {
  const { broker, open, state } = world()
  put(broker, 'a', 'one')
  const { table, contents } = await open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  state.isAway = true
  await expect
    .poll(() => {
      state.aheadMs += SILENCE_MS
      return table.isStale
    }, SOON)
    .toBe(true)
  expect([contents(), table.isFromSnapshot]).toEqual([{ a: 'one' }, false])
  state.isAway = false
  await expect.poll(() => table.isStale, SOON).toBe(false)
})

test('the table writes changes to disk without being closed, so that they survive if the process is killed', async () => {
  const { folder, broker, open } = world({ intervalMs: 20 })
  put(broker, 'a', 'one')
  const { table } = await open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  put(broker, 'a', 'changed')
  await expect.poll(() => readFileSync(snapshotPath(folder, topic.name), 'utf8'), SOON).toContain('changed')
})

test('the table writes a first snapshot when it is ready, even if the topic is empty', async () => {
  const { folder, broker, open } = world()
  await open()
  await expect.poll(() => existsSync(snapshotPath(folder, topic.name)), SOON).toBe(true)
  const next = world({ folder, broker })
  const { table } = await next.open(true)
  next.state.aheadMs += SILENCE_MS
  await expect.poll(() => table.isFromSnapshot, SOON).toBe(true)
  expect(table.size).toBe(0)
})

test('a snapshot that is damaged or from another version is ignored', async () => {
  const { folder, broker } = await saved()
  const path = snapshotPath(folder, topic.name)
  const bytes = readFileSync(path)
  const flipped = Buffer.from(bytes)
  flipped[flipped.length - 20] ^= 1
  for (const [content, version] of [
    [flipped, 1],
    [bytes.subarray(0, -1), 1],
    [bytes, 2],
  ] as const) {
    // biome-ignore format: short
    writeFileSync(path, content)
    const other = world({ folder, broker, version })
    const { table, contents, close } = await other.open()
    expect(other.events('table_snapshot_ignored')).toHaveLength(1)
    await expect.poll(() => reports(table), SOON).toEqual({})
    expect([contents(), other.begun[0].every((offset) => offset === 0)]).toEqual([{ a: 'one two', b: 'three' }, true])
    await close()
  }
})

test('a table that continues from its snapshot resumes with the stored leader epochs, so that a loss of records since the snapshot is detected', async () => {
  const { open, broker, state } = world()
  for (const key of ['a', 'b', 'c']) put(broker, key, 'one')
  const first = await open()
  await expect.poll(() => reports(first.table), SOON).toEqual({})
  await first.close()
  state.epochs.length = 0
  const { table } = await open()
  await expect.poll(() => reports(table), SOON).toEqual({})
  expect(state.epochs).toEqual([EPOCH, EPOCH, EPOCH])
})
