import { type PartitionData, UNKNOWN_LEADER_EPOCH } from '../../../kafka/transport.ts'
import { keyHash, PackedRows } from '../../../state/stores/packed-rows.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { Changelog } from '../task/task-place.ts'
import { checkReadable, clearIfReset, putRecords } from './copy-changelog.ts'
import { putRestored } from './restore.ts'

/**
 * Maximum size of the collected rows of all changelogs, in bytes. A row that is written in a sorted run of 50,000 rows
 * takes half the CPU time of a row in the order of the log.
 */
const DEFAULT_BUFFER_BYTES = 32 * 1024 * 1024
/**
 * Size in bytes of a sample of a changelog. If the sample is almost in the order of its keys, the next records are
 * written without being collected, because sorting them would cost more than it saves.
 */
const SAMPLE_BYTES = 1024 * 1024
/** Number of records that are written without being collected after a sorted sample, per record of the sample. */
const UNCOLLECTED_PER_SAMPLED = 20
/** A sample counts as sorted if at most this share of its records is out of order, or repeats an earlier key. */
const UNSORTED_SHARE = 0.02

interface Collected {
  readonly changelog: Changelog
  readonly rows: PackedRows
  /** Number of records from which `rows` was made. */
  records: number
  /** True if the next rows to be written are a sample. */
  isSample: boolean
  /** Number of records that are still to be written without being collected. */
  uncollected: number
  /** The position after the last collected record. */
  nextOffset: number
  leaderEpoch: number
}

/**
 * Collects the records of changelogs that are being restored, and writes them to the database in the order of their
 * keys. A changelog is sorted by key only within each commit, and inserting rows in random order takes most of the time
 * of a restore. Of the collected records with the same key, only the last one is written.
 */
export interface RestoreBuffer {
  /**
   * Collects fetched records. If the buffer is full, writes the changelog that takes the most memory. If the reader was
   * reset (`PartitionData.wasReset`), deletes the present state of the store first.
   */
  add(changelog: Changelog, data: PartitionData): void
  /** Writes the collected rows of a changelog and its position, atomically. */
  write(changelog: Changelog): void
  /** Drops the collected rows of a changelog. Its stored position still fits the written rows. */
  drop(changelog: Changelog): void
}

/** @param maxBytes size of the buffer. Rows of one changelog are written earlier if they fill a batch of the session. */
export function restoreBuffer(session: StateSession, maxBytes = DEFAULT_BUFFER_BYTES): RestoreBuffer {
  /** By position name, because it is unique in a session. */
  const collected = new Map<string, Collected>()

  function of(changelog: Changelog): Collected {
    let found = collected.get(changelog.positionName)
    if (found === undefined) {
      found = {
        changelog,
        rows: new PackedRows(),
        records: 0,
        isSample: true,
        uncollected: 0,
        nextOffset: 0,
        leaderEpoch: UNKNOWN_LEADER_EPOCH,
      }
      collected.set(changelog.positionName, found)
    }
    return found
  }

  function writeRows(target: Collected): void {
    const { changelog, rows, records } = target
    const column = session.column(changelog.store, changelog.partition)
    const { buffer } = rows
    const order = rows.roughlySorted()
    for (const row of order) {
      const value = rows.hasValue(row) ? buffer : null
      column.put(buffer, rows.keyStart(row), rows.keyEnd(row), value, rows.valueStart(row), rows.valueEnd(row))
    }
    writeBatch(target)
    const isSorted = records - rows.count + descents(order) <= records * UNSORTED_SHARE
    if (isSorted) target.uncollected = records * UNCOLLECTED_PER_SAMPLED
    target.isSample = isSorted
    target.records = 0
    rows.clear()
  }

  function writeUncollected(target: Collected, data: PartitionData): void {
    putRecords(session.column(target.changelog.store, target.changelog.partition), data)
    writeBatch(target)
    target.uncollected -= recordsIn(data)
  }

  function writeBatch({ changelog, nextOffset, leaderEpoch }: Collected): void {
    putRestored(session, changelog, nextOffset, leaderEpoch)
    session.write()
  }

  function writeLargest(): void {
    const all = [...collected.values()]
    writeRows(all.reduce((largest, other) => (other.rows.size > largest.rows.size ? other : largest)))
  }

  function bufferedBytes(): number {
    let bytes = 0
    for (const { rows } of collected.values()) bytes += rows.size
    return bytes
  }

  return {
    add(changelog, data) {
      checkReadable(data)
      if (data.wasReset) collected.delete(changelog.positionName)
      clearIfReset(session, changelog, data)
      const target = of(changelog)
      target.nextOffset = data.nextOffset
      target.leaderEpoch = data.leaderEpoch ?? UNKNOWN_LEADER_EPOCH
      if (target.uncollected > 0) {
        writeUncollected(target, data)
        return
      }
      collect(target.rows, data)
      target.records += recordsIn(data)
      const mostBytes = target.isSample ? Math.min(SAMPLE_BYTES, session.batchBytes) : session.batchBytes
      if (target.rows.size >= mostBytes) writeRows(target)
      while (bufferedBytes() > maxBytes) writeLargest()
    },
    write(changelog) {
      const found = collected.get(changelog.positionName)
      if (found === undefined) return
      writeRows(found)
      collected.delete(changelog.positionName)
    },
    drop(changelog) {
      collected.delete(changelog.positionName)
    },
  }
}

function recordsIn({ chunks }: PartitionData): number {
  return chunks.reduce((records, { count }) => records + count, 0)
}

/** Returns how many of the numbers are smaller than their predecessor. */
function descents(numbers: Float64Array): number {
  let found = 0
  for (let i = 1; i < numbers.length; i++) if (numbers[i] < numbers[i - 1]) found++
  return found
}

function collect(rows: PackedRows, { chunks }: PartitionData): void {
  for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
    for (let i = 0; i < count; i++) {
      if (keyStart[i] < 0) continue
      const hash = keyHash(buffer, keyStart[i], keyEnd[i])
      let row = rows.find(buffer, keyStart[i], keyEnd[i], hash)
      if (row < 0) row = rows.add(buffer, keyStart[i], keyEnd[i], hash)
      if (valueStart[i] < 0) rows.removeValue(row)
      else rows.setValue(row, buffer, valueStart[i], valueEnd[i])
    }
  }
}
