import { type PartitionData, UNKNOWN_LEADER_EPOCH } from '../../../kafka/transport.ts'
import { keyHash, PackedRows } from '../../../state/stores/packed-rows.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { Changelog } from '../task/task-place.ts'
import { checkReadable, clearIfReset, putRecords } from './copy-changelog.ts'
import { putRestored } from './restore.ts'

/**
 * Maximum size of the collected rows of all changelogs, in bytes. Writing a row takes half as much CPU time in a sorted
 * run of 50,000 rows as in the order of the log.
 */
const MAX_BYTES = 32 * 1024 * 1024
/**
 * If more than this many consecutive records of a changelog are in the order of their keys, the records that follow in
 * the same order are not collected, because collecting them would cost more than it saves.
 */
const LONG_RUN = 100_000
/**
 * Number of collected records after which the rows of a changelog are written. Otherwise, the rows of a changelog with
 * few keys would not be written before its end, and a restore that is killed would begin again.
 */
const MAX_RECORDS = 1_000_000

interface Collected {
  readonly changelog: Changelog
  rows: PackedRows
  /** Number of records that were collected since `rows` was last empty. */
  records: number
  /** The offset after the last fetched record, including any skipped offsets that follow it. */
  nextOffset: number
  leaderEpoch: number
  /** Number of records that were fetched after the last fetch with a record out of key order. */
  inOrder: number
  /** The key of the last record. */
  lastKey: Buffer
}

/**
 * Collects the records of changelogs that are being restored, and writes them to the database roughly in the order of
 * their keys (`PackedRows.roughlySorted`). A changelog is sorted by key only within each commit, and inserting rows in
 * random order takes most of the time of a restore. Of the collected records with the same key, only the last one is
 * written.
 */
export interface RestoreBuffer {
  /**
   * Collects fetched records, or writes them directly in a long run in key order (`LONG_RUN`). Writes the collected
   * rows of this changelog if they fill a batch of the session or come from `MAX_RECORDS` records. If the buffer is
   * full, writes the rows of the changelog that takes the most memory. If the reader was reset
   * (`PartitionData.wasReset`), deletes the present state of the store first.
   */
  add(changelog: Changelog, data: PartitionData): void
  /** Writes the collected rows of a changelog and its position, atomically. */
  write(changelog: Changelog): void
  /** Drops the collected rows of a changelog. Its stored position still matches the rows that were written. */
  drop(changelog: Changelog): void
}

/** @param maxBytes maximum size of the collected rows of all changelogs, in bytes */
export function restoreBuffer(session: StateSession, maxBytes = MAX_BYTES): RestoreBuffer {
  /** Keyed by position name, which is unique in a session. */
  const collected = new Map<string, Collected>()

  function of(changelog: Changelog): Collected {
    let found = collected.get(changelog.positionName)
    if (found === undefined) {
      found = {
        changelog,
        rows: new PackedRows(),
        records: 0,
        nextOffset: 0,
        leaderEpoch: UNKNOWN_LEADER_EPOCH,
        inOrder: 0,
        lastKey: Buffer.alloc(0),
      }
      collected.set(changelog.positionName, found)
    }
    return found
  }

  function putRows(target: Collected): void {
    const { changelog, rows } = target
    if (target.records === 0) return
    const column = session.column(changelog.store, changelog.partition)
    const { buffer } = rows
    for (const row of rows.roughlySorted()) {
      const value = rows.hasValue(row) ? buffer : null
      column.put(buffer, rows.keyStart(row), rows.keyEnd(row), value, rows.valueStart(row), rows.valueEnd(row))
    }
    rows.clear()
    target.records = 0
  }

  function writeBatch({ changelog, nextOffset, leaderEpoch }: Collected): void {
    putRestored(session, changelog, nextOffset, leaderEpoch)
    session.write()
  }

  function writeRows(target: Collected): void {
    putRows(target)
    writeBatch(target)
  }

  /** Writes the rows of the changelog that takes the most memory, and frees this memory for the other changelogs. */
  function writeLargest(): void {
    const all = [...collected.values()]
    const largest = all.reduce((found, other) => (other.rows.size > found.rows.size ? other : found))
    writeRows(largest)
    largest.rows = new PackedRows()
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
      const records = recordsIn(data)
      target.inOrder = isInOrder(target.lastKey, data) ? target.inOrder + records : 0
      target.lastKey = lastKeyOf(data) ?? target.lastKey
      if (target.inOrder > LONG_RUN) {
        putRows(target)
        putRecords(session.column(changelog.store, changelog.partition), data)
        writeBatch(target)
        return
      }
      collect(target.rows, data)
      target.records += records
      if (target.rows.size >= session.batchBytes || target.records >= MAX_RECORDS) writeRows(target)
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

/** Returns true if each key is greater than the one before it, and the first key is greater than `last`. */
function isInOrder(last: Buffer, { chunks }: PartitionData): boolean {
  let start = 0
  let end = last.length
  for (const { buffer, count, keyStart, keyEnd } of chunks) {
    for (let i = 0; i < count; i++) {
      if (keyStart[i] < 0) continue
      if (last.compare(buffer, keyStart[i], keyEnd[i], start, end) >= 0) return false
      last = buffer
      start = keyStart[i]
      end = keyEnd[i]
    }
  }
  return true
}

/** Returns a copy of the key of the last record; undefined if no record has a key. */
function lastKeyOf({ chunks }: PartitionData): Buffer | undefined {
  for (const { buffer, count, keyStart, keyEnd } of chunks.toReversed()) {
    for (let i = count - 1; i >= 0; i--) if (keyStart[i] >= 0) return Buffer.from(buffer.subarray(keyStart[i], keyEnd[i]))
  }
  return undefined
}

function recordsIn({ chunks }: PartitionData): number {
  return chunks.reduce((records, { count }) => records + count, 0)
}

function collect(rows: PackedRows, { chunks }: PartitionData): void {
  for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
    for (let i = 0; i < count; i++) {
      if (keyStart[i] < 0) continue
      const row = rows.findOrAdd(buffer, keyStart[i], keyEnd[i], keyHash(buffer, keyStart[i], keyEnd[i]))
      if (valueStart[i] < 0) rows.removeValue(row)
      else rows.setValue(row, buffer, valueStart[i], valueEnd[i])
    }
  }
}
