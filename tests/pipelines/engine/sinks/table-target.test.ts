import { expect, test } from 'vitest'
import { tableTarget } from '../../../../pipelines/engine/sinks/table-target.ts'
import type { SinkRecord } from '../../../../pipelines/engine/sinks/target.ts'
import type { RowBinary } from '../../../../state/tables/row-binary.ts'
import type { Insert, TableStore } from '../../../../state/tables/store.ts'
import type { BinaryTable } from '../../../../state/tables/table.ts'
import { TargetUnavailableError } from '../../../../state/unavailable.ts'
import { type Event, eventsTable } from '../../../state/tables/events-table.ts'

const NOVEMBER = Date.UTC(2026, 10, 30)
const DECEMBER = Date.UTC(2026, 11, 1)
const partition = { topic: 'topic', partition: 2 }

/**
 * Creates an in-memory table. A failing insert is either lost, or stored without a response. Like ClickHouse, the table
 * ignores an insert that repeats an earlier one, unless `forgetInserts` was called in between.
 */
function memoryTable() {
  const inserts: number[][] = []
  const tokens = new Set<string>()
  let salt = 0
  const state = {
    fail: undefined as 'lost' | 'unanswered' | undefined,
    positionsAsked: 0,
    identity: 'life 1',
    topicId: undefined as string | undefined,
  }
  const caughtUp: string[] = []
  const store: TableStore = {
    prepare: async () => state.identity,
    async position() {
      state.positionsAsked++
      const offsets = inserts.flat()
      return offsets.length === 0 ? undefined : Math.max(...offsets) + 1
    },
    async insert({ rows }: Insert) {
      const fail = state.fail
      state.fail = undefined
      if (fail === 'lost') throw new TargetUnavailableError('lost')
      const offsets = rows.map(({ offset }) => offset)
      const token = [salt, ...offsets].join()
      if (!tokens.has(token)) inserts.push(offsets)
      tokens.add(token)
      if (fail === 'unanswered') throw new TargetUnavailableError('unanswered')
    },
    insertBinary: ({ source, firstOffset, lastOffset }: RowBinary) =>
      store.insert({ ...source, rows: [firstOffset, lastOffset].map((offset) => ({ offset, row: {} })) }),
    forgetInserts: () => void salt++,
    topicId: async () => state.topicId,
    async noteTopicId(_topic, _partition, id) {
      state.topicId = id
    },
    async noteCaughtUp(topic, partition) {
      const fail = state.fail
      state.fail = undefined
      if (fail !== undefined) throw new TargetUnavailableError(fail)
      caughtUp.push(`${inserts.length} inserts ${topic}-${partition}`)
    },
  }
  return { inserts, state, store, caughtUp }
}

function records(...events: [offset: number, at: number, rows?: number][]): SinkRecord[] {
  return events.map(([offset, at, rows]) => ({
    offset,
    timestamp: at,
    key: 'key',
    value: { id: `event ${offset}`, at, rows } satisfies Event,
  }))
}

const batch = (given: SinkRecord[]) => ({ partition, records: given, expected: undefined, next: 100, caughtUp: false })
const facts = (end: number, committed?: { offset: number; metadata: string }) => ({
  start: 0,
  end,
  committed,
  topicId: 'id',
  isBeyondEnd: async (offset: number) => offset > end,
})

test("a batch is split at the table's partition borders, in offset order", async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  const write = target.prepare(
    batch(records([1, NOVEMBER], [2, NOVEMBER, 2], [3, DECEMBER], [4, NOVEMBER], [5, NOVEMBER, 0], [6, NOVEMBER])),
  )
  expect(await write()).toEqual({ outcome: 'applied' })
  expect(inserts).toEqual([[1, 2, 2], [3], [4, 6]])
})

/** The events table, but with binary rows. */
const { rowsOf: _, ...definition } = eventsTable
const binaryEvents: BinaryTable<string, Event> = {
  ...definition,
  binaryColumns: ['id', 'number', 'at'],
  writeRows(_key, { id, at, rows: count = 1 }, offset, rows) {
    for (let number = 0; number < count; number++) {
      rows.values.text(id)
      rows.values.uint32(number)
      rows.values.uint64(at)
      rows.endRow(offset)
    }
  },
}

test('binary rows are split and limited in the same way as JSON rows, and tombstones have no rows', async () => {
  const { store, inserts, state } = memoryTable()
  const target = await tableTarget({ table: binaryEvents, maxInsertRows: 3 }, store)
  const write = target.prepare(
    batch([
      ...records([1, NOVEMBER], [2, NOVEMBER, 2], [3, DECEMBER], [4, NOVEMBER, 0], [5, NOVEMBER, 0]),
      { offset: 6, timestamp: 0, key: 'key', value: null },
      ...records([7, NOVEMBER, 4], [8, NOVEMBER], [9, NOVEMBER]),
    ]),
  )
  state.fail = 'unanswered'
  await expect(write()).rejects.toThrow(TargetUnavailableError)
  expect(await write()).toEqual({ outcome: 'applied' })
  expect(inserts).toEqual([
    [1, 2],
    [3, 3],
    [7, 7],
    [8, 9],
  ])
})

/** A time in microseconds instead of milliseconds. A table would read it as a time in about the year 58,900. */
const IMPOSSIBLE = NOVEMBER * 1_000

test.each([
  ['rows', eventsTable],
  ['binary rows', { ...binaryEvents, partitionOf: () => 1, writeRows: writeValidated }],
])('if the %s of records cannot be built, these records become dead letters once, before anything is inserted', async (_kind, table) => {
  const { store, inserts, state } = memoryTable()
  const letters: [inserted: number, at: readonly number[], reasons: readonly string[]][] = []
  const target = await tableTarget({ table }, store)
  const write = target.prepare({
    ...batch(records([1, NOVEMBER], [2, IMPOSSIBLE], [3, NOVEMBER], [4, IMPOSSIBLE])),
    async refuse(refused) {
      letters.push([inserts.length, refused.map(({ at }) => at), refused.map(({ reason }) => reason)])
    },
  })
  state.fail = 'lost'
  await expect(write()).rejects.toThrow(TargetUnavailableError)
  expect(await write()).toEqual({ outcome: 'applied' })
  const reason = `a table cannot store the time ${IMPOSSIBLE}: times must be epoch ms from 1970 to 2106`
  expect(letters).toEqual([[0, [1, 3], [reason, reason]]])
  expect(inserts).toEqual([[1, 3]])
})

/** Writes a row, and fails in the middle of it if the time is impossible. */
function writeValidated(_key: string, { id, at }: Event, offset: number, rows: RowBinary): void {
  rows.values.text(id)
  rows.values.dateTime(at)
  rows.endRow(offset)
}

test('a row that cannot be built leaves no bytes among the binary rows of an insert', async () => {
  const bytes: string[] = []
  const { store } = memoryTable()
  const insertBinary = async (rows: RowBinary) => void bytes.push(rows.bytes.toString('hex'))
  const table = { ...binaryEvents, partitionOf: () => 1, writeRows: writeValidated }
  const target = await tableTarget({ table }, { ...store, insertBinary })
  await target.prepare(batch(records([1, NOVEMBER], [2, IMPOSSIBLE], [3, NOVEMBER])))()
  await target.prepare(batch(records([1, NOVEMBER], [3, NOVEMBER])))()
  expect(bytes[0]).toBe(bytes[1])
})

test('a bug in a table stops the sink instead of creating dead letters', async () => {
  const rowsOf = () => {
    throw new TypeError('a bug')
  }
  const target = await tableTarget({ table: { ...eventsTable, rowsOf } }, memoryTable().store)
  expect(() => target.prepare(batch(records([1, NOVEMBER])))).toThrow('a bug')
})

test('an insert has at most the given number of rows, except that the rows of one record stay together', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable, maxInsertRows: 4 }, store)
  await target.prepare(batch(records([1, NOVEMBER, 3], [2, NOVEMBER, 2], [3, NOVEMBER, 2], [4, NOVEMBER, 9])))()
  expect(inserts.map((offsets) => offsets.length)).toEqual([3, 4, 9])
})

test.each(['lost', 'unanswered'] as const)('an insert that was %s is in the table exactly once after the retry', async (fail) => {
  const { store, inserts, state } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  const write = target.prepare(batch(records([1, NOVEMBER], [2, DECEMBER], [3, DECEMBER])))
  state.fail = fail
  await expect(write()).rejects.toThrow(TargetUnavailableError)
  await write()
  expect(inserts).toEqual([[1], [2, 3]])
})

test('a failed insert is retried even if the table contains rows of lost records with the same and higher offsets', async () => {
  const { store, inserts, state } = memoryTable()
  inserts.push([7, 8])
  const target = await tableTarget({ table: eventsTable }, store)
  const write = target.prepare({ ...batch(records([7, NOVEMBER])), expected: 9 })
  state.fail = 'lost'
  await expect(write()).rejects.toThrow(TargetUnavailableError)
  await write()
  expect(inserts).toEqual([[7, 8], [7]])
})

test('when a later insert of a batch fails, the earlier inserts are not repeated', async () => {
  const { store, inserts, state } = memoryTable()
  let calls = 0
  const failing: TableStore = {
    ...store,
    async insert(insert) {
      if (++calls === 2) state.fail = 'lost'
      await store.insert(insert)
    },
  }
  const target = await tableTarget({ table: eventsTable }, failing)
  const write = target.prepare(batch(records([1, NOVEMBER], [2, DECEMBER])))
  await expect(write()).rejects.toThrow(TargetUnavailableError)
  await write()
  expect(inserts).toEqual([[1], [2]])
})

test('tombstones and records without rows cause no insert', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  await target.prepare(batch([{ offset: 1, timestamp: 0, key: 'key', value: null }, ...records([2, NOVEMBER, 0])]))()
  expect(inserts).toEqual([])
})

test('a sink continues reading after the highest offset in the table', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  expect(await target.open(partition, facts(50))).toBeUndefined()
  inserts.push([7, 8])
  expect(await target.open(partition, facts(50))).toBe(9)
  expect(await target.open(partition, facts(50, { offset: 5, metadata: 'life 1' }))).toBe(9)
})

test('a sink continues reading at the committed offset if rows have expired or records had no rows', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  expect(target.commitMetadata).toBe('life 1')
  const committed = { offset: 30, metadata: 'life 1' }
  expect(await target.open(partition, facts(50, committed))).toBe(30)
  inserts.push([7])
  expect(await target.open(partition, facts(50, committed))).toBe(30)
})

test('offsets that were committed for an earlier table of the same name are ignored, and the table is filled from the beginning', async () => {
  const { store, state } = memoryTable()
  state.identity = 'life 2'
  const target = await tableTarget({ table: eventsTable }, store)
  expect(await target.open(partition, facts(50, { offset: 30, metadata: 'life 1' }))).toBeUndefined()
})

test('a sink stops and explains what to do if its log ends before the position of the table', async () => {
  const { store, inserts } = memoryTable()
  inserts.push([70])
  const target = await tableTarget({ table: eventsTable }, store)
  await expect(target.open(partition, facts(50))).rejects.toThrow(
    /events holds topic-2 up to offset 70, but the log ends at 50.*Drop the table\. The sink/,
  )
})

test('new records are inserted even if the log has lost records with the same offsets', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  await target.prepare({ ...batch(records([7, NOVEMBER])), expected: 7, next: 8 })()
  await target.prepare({ ...batch(records([7, DECEMBER])), expected: 8, next: 8 })()
  expect(inserts).toEqual([[7], [7]])
})

test('rows that were deleted after the log had lost its end are inserted again', async () => {
  const { store, inserts } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  await target.prepare(batch(records([7, NOVEMBER])))()
  const committed = { offset: 8, metadata: 'life 1' }
  await expect(target.open(partition, facts(7, committed))).rejects.toThrow('delete the rows of this topic')
  inserts.length = 0
  expect(await target.open(partition, facts(7, committed))).toBeUndefined()
  await target.prepare(batch(records([7, NOVEMBER])))()
  expect(inserts).toEqual([[7]])
})

test('if the log has lost its end, deleting the rows is enough: the table is filled from the beginning', async () => {
  const { store, inserts } = memoryTable()
  inserts.push([70])
  const target = await tableTarget({ table: eventsTable }, store)
  const committed = { offset: 71, metadata: 'life 1' }
  await expect(target.open(partition, facts(50, committed))).rejects.toThrow('delete the rows of this topic')
  inserts.length = 0
  expect(await target.open(partition, facts(50, committed))).toBeUndefined()
  inserts.push([7])
  expect(await target.open(partition, facts(50, committed))).toBe(8)
})

test('a sink stops if its table was filled from a former topic of the same name, even if the new log contains the offset of the table', async () => {
  const { store, inserts, state } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  await target.open(partition, facts(50))
  expect(state.topicId).toBe('id')
  inserts.push([7])
  expect(await target.open(partition, { ...facts(50), topicId: '' })).toBe(8)
  await expect(target.open(partition, { ...facts(50), topicId: 'another' })).rejects.toThrow(
    /events holds topic-2 up to offset 7, but the topic has another id now.*Drop the table/,
  )
  expect(state.topicId).toBe('id')
})

test('if a topic was recreated and the table has no rows of its partition, the table is filled from the beginning, despite a committed offset', async () => {
  const { store, state } = memoryTable()
  state.topicId = 'former'
  const target = await tableTarget({ table: eventsTable }, store)
  expect(await target.open(partition, facts(50, { offset: 30, metadata: 'life 1' }))).toBeUndefined()
  expect(state.topicId).toBe('id')
})

test('if its topic was recreated, the table records again that a partition has caught up', async () => {
  const { store, caughtUp } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  const reachEnd = () => target.prepare({ ...batch([]), caughtUp: true })()
  await target.open(partition, facts(50))
  await reachEnd()
  await target.open(partition, facts(50))
  await reachEnd()
  expect(caughtUp).toHaveLength(1)
  await target.open(partition, { ...facts(50), topicId: 'another' })
  await reachEnd()
  expect(caughtUp).toHaveLength(2)
})

test('the table records again that a partition has caught up even if another process has already recorded the id of the recreated topic', async () => {
  const { store, state, caughtUp } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  const reachEnd = () => target.prepare({ ...batch([]), caughtUp: true })()
  await target.open(partition, facts(50))
  await reachEnd()
  state.topicId = 'another'
  await target.open(partition, { ...facts(50), topicId: 'another' })
  await reachEnd()
  expect(caughtUp).toHaveLength(2)
})

test('the table records once that a partition has caught up, and only after the rows of the partition are stored', async () => {
  const { store, inserts, state, caughtUp } = memoryTable()
  const target = await tableTarget({ table: eventsTable }, store)
  await target.prepare(batch(records([1, NOVEMBER])))()
  expect(caughtUp).toEqual([])
  const reaches = target.prepare({ ...batch([]), caughtUp: true })
  state.fail = 'lost'
  await expect(reaches()).rejects.toThrow(TargetUnavailableError)
  await reaches()
  await target.prepare({ ...batch(records([2, NOVEMBER])), caughtUp: true })()
  expect(caughtUp).toEqual(['1 inserts topic-2'])
  expect(inserts).toEqual([[1], [2]])
})
