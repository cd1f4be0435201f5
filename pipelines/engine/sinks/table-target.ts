import type { TopicPartition } from '../../../kafka/transport.ts'
import { RowBinary } from '../../../state/tables/row-binary.ts'
import type { OffsetRow, TableStore } from '../../../state/tables/store.ts'
import type { AnyTable, BinaryTable, Table } from '../../../state/tables/table.ts'
import { ImpossibleTimeError } from '../../../state/tables/time.ts'
import type { BatchLimits, PartitionFacts, RefusedRecord, SinkBatch, SinkRecord, SinkTarget, WriteResult } from './target.ts'

export interface TableTargetOptions<K, V> {
  readonly table: AnyTable<K, V>
  /**
   * Limits of a batch. By default: 5,000 records, 2 MiB, and the `lingerMs` of the table or else 1 s. ClickHouse works
   * best with few large inserts, about one per second for each table.
   */
  readonly limits?: Partial<BatchLimits>
  /** Maximum rows per insert. Default 50,000. */
  readonly maxInsertRows?: number
}

const LIMITS: BatchLimits = { maxRecords: 5_000, maxBytes: 2 * 1024 * 1024, lingerMs: 1_000 }
/**
 * Share of the linger time by which a fetch is delayed (`collectMs`). The delay does no harm, because rows wait for the
 * insert anyway.
 */
const COLLECTING_SHARE = 0.1
/**
 * Default of `maxInsertRows`. This many rows are about 20 MB of JSON. ClickHouse parses them within a second and with
 * little memory.
 */
const MAX_INSERT_ROWS = 50_000

/** The rows of a batch, and the records whose rows cannot be built. */
interface Rows {
  readonly runs: readonly Run[]
  readonly refused: readonly RefusedRecord[]
}

/** Consecutive records whose rows belong to one partition of the table. */
interface Run {
  readonly tablePartition: string | number
  /** The offset of the last record with a row. */
  readonly lastOffset: number
  insert(): Promise<void>
}

/**
 * Creates or migrates a table, and returns the target that fills it. Each row contains the offset of its record, and
 * each insert creates one part in one partition of the table. The sink continues after the highest offset in the table,
 * or at its committed offset if that is higher.
 */
export async function tableTarget<K, V>(options: TableTargetOptions<K, V>, store: TableStore): Promise<SinkTarget> {
  const { table, maxInsertRows = MAX_INSERT_ROWS } = options
  const limits = { ...LIMITS, lingerMs: table.lingerMs ?? LIMITS.lingerMs, ...options.limits }
  const identity = await store.prepare()
  /** Keys (`notedKey`) of the partitions that the table already marks as caught up. */
  const noted = new Set<string>()
  /** The topic id with which this process last opened each partition, keyed by `notedKey`. */
  const openedWith = new Map<string, string>()
  /**
   * For each partition whose log has lost records, the offset before which the table may contain lost records, keyed by
   * `notedKey`.
   */
  const lostBefore = new Map<string, number>()

  async function open({ topic, partition }: TopicPartition, facts: PartitionFacts): Promise<number | undefined> {
    const { end, committed, topicId, isBeyondEnd } = facts
    const stored = await store.position(topic, partition)
    const filledFrom = await store.topicId(topic, partition)
    const isOther = filledFrom !== undefined && topicId !== '' && filledFrom !== topicId
    // When the table has no stored position, its rows may have expired, or the records may have produced no rows.
    // Reading then continues from the committed offset. This offset does not count if it belongs to an earlier table or
    // topic with this name, or if the log has lost the records before it. The table is then filled from the beginning.
    const isOfThisTable = committed?.metadata === identity && !isOther
    const hasLostEnd = isOfThisTable && (await isBeyondEnd(committed.offset))
    if (hasLostEnd) store.forgetInserts(topic, partition)
    const confirmed = isOfThisTable && !hasLostEnd ? committed.offset : undefined
    const next = stored === undefined ? confirmed : Math.max(stored, confirmed ?? 0)
    if (stored !== undefined && isOther) throw recreated(topic, partition, stored, 'the topic has another id now', true)
    if (next !== undefined && (await isBeyondEnd(next))) throw recreated(topic, partition, next, `the log ends at ${end}`, hasLostEnd)
    // If the topic was recreated, another process may have noticed this first and deleted the partition's mark as
    // caught up. This process must then write the mark again.
    const key = notedKey(topic, partition)
    if (openedWith.get(key) !== topicId) noted.delete(key)
    openedWith.set(key, topicId)
    if (topicId !== '' && filledFrom !== topicId) await store.noteTopicId(topic, partition, topicId)
    return next
  }

  /**
   * @param mayDelete true if it is enough to delete the rows; false if the sink would then continue at its committed
   * offset
   */
  function recreated(topic: string, partition: number, next: number, reason: string, mayDelete: boolean): Error {
    return new Error(
      `table ${table.name} holds ${topic}-${partition} up to offset ${next - 1}, but ${reason}: the topic was recreated or has lost records. ` +
        `Drop the table${mayDelete ? ', or delete the rows of this topic' : ''}. The sink then fills it again.`,
    )
  }

  function prepare({ partition: { topic, partition }, records, expected, caughtUp, refuse }: SinkBatch): () => Promise<WriteResult> {
    const place = { topic, partition }
    if (expected !== undefined && records.some(({ offset }) => offset < expected)) {
      lostBefore.set(notedKey(topic, partition), expected)
      store.forgetInserts(topic, partition)
    }
    const { runs, refused } = 'binaryColumns' in table ? binaryRuns(table, place, records) : jsonRuns(table, place, records)
    let isRefused = refused.length === 0
    let done = 0
    let isUncertain = false

    /**
     * Inserts the runs sequentially in offset order, so that even after a crash between two inserts, the table lacks no
     * rows before its highest offset.
     */
    return async function insertRuns() {
      // The dead letters are stored before the rows. A restarted sink continues after the highest offset in the table,
      // so it would skip refused records that are not stored yet.
      if (!isRefused) await refuse?.(refused)
      isRefused = true
      for (; done < runs.length; done++) {
        const run = runs[done]
        if (isUncertain && (await isStored(place, run))) {
          isUncertain = false
          continue
        }
        isUncertain = true
        await run.insert()
        isUncertain = false
      }
      if (caughtUp) await noteCaughtUp(topic, partition)
      return { outcome: 'applied' }
    }
  }

  async function noteCaughtUp(topic: string, partition: number): Promise<void> {
    const key = notedKey(topic, partition)
    if (noted.has(key)) return
    await store.noteCaughtUp(topic, partition)
    noted.add(key)
  }

  async function isStored({ topic, partition }: TopicPartition, { lastOffset }: Run): Promise<boolean> {
    // The table may contain rows of lost records with the same offsets, so its position does not show whether this
    // insert was stored. The insert is then repeated, and ClickHouse ignores the repetition.
    if (lastOffset < (lostBefore.get(notedKey(topic, partition)) ?? 0)) return false
    const next = await store.position(topic, partition)
    return next !== undefined && next > lastOffset
  }

  function jsonRuns(jsonTable: Table<K, V>, place: TopicPartition, records: SinkBatch['records']): Rows {
    const runs: (Run & { readonly rows: OffsetRow[] })[] = []
    const refused = refusedOf(records, ({ offset, key, value }) => {
      const rows = jsonTable.rowsOf(key as K, value as V | null)
      if (rows.length === 0) return
      const run = runFor(jsonTable.partitionOf(key as K, value as V), rows.length)
      for (const row of rows) run.rows.push({ offset, row })
    })

    function runFor(tablePartition: string | number, more: number): { readonly rows: OffsetRow[] } {
      const last = runs.at(-1)
      if (last?.tablePartition === tablePartition && last.rows.length + more <= maxInsertRows) return last
      const rows: OffsetRow[] = []
      const run = {
        tablePartition,
        rows,
        get lastOffset() {
          return rows[rows.length - 1].offset
        },
        insert: () => store.insert({ ...place, rows }),
      }
      runs.push(run)
      return run
    }

    return { runs, refused }
  }

  function binaryRuns(binaryTable: BinaryTable<K, V>, place: TopicPartition, records: SinkBatch['records']): Rows {
    const runs: (Run & { readonly rows: RowBinary })[] = []
    const refused = refusedOf(records, ({ offset, key, value }) => {
      // A tombstone has no rows.
      if (value === null) return
      const { rows } = runFor(binaryTable.partitionOf(key as K, value as V))
      const { firstOffset, lastOffset, count } = rows
      const { size } = rows.values
      try {
        binaryTable.writeRows(key as K, value as V, offset, rows)
      } catch (error) {
        rows.restore({ size, firstOffset, lastOffset, count })
        throw error
      }
    })

    /** The rows of one record stay together, so an insert may exceed the limit by the rows of one record. */
    function runFor(tablePartition: string | number): { readonly rows: RowBinary } {
      const last = runs.at(-1)
      if (last?.tablePartition === tablePartition && last.rows.count < maxInsertRows) return last
      const rows = new RowBinary(place)
      const run = {
        tablePartition,
        rows,
        get lastOffset() {
          return rows.lastOffset
        },
        insert: () => store.insertBinary(rows),
      }
      runs.push(run)
      return run
    }

    return { runs: runs.filter(({ rows }) => rows.count > 0), refused }
  }

  return {
    name: `table ${table.name}`,
    limits,
    collectMs: limits.lingerMs * COLLECTING_SHARE,
    commitMetadata: identity,
    confirmsOwnership: true,
    open,
    prepare,
  }
}

function notedKey(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

/**
 * Adds records one by one. Returns the records with a time that the table cannot store (`ImpossibleTimeError`). Any
 * other error is a bug in the table's code and stops the sink.
 */
function refusedOf(records: SinkBatch['records'], add: (record: SinkRecord) => void): RefusedRecord[] {
  const refused: RefusedRecord[] = []
  for (const [at, record] of records.entries()) {
    try {
      add(record)
    } catch (error) {
      if (!(error instanceof ImpossibleTimeError)) throw error
      refused.push({ at, reason: error.message })
    }
  }
  return refused
}
