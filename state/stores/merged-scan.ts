import { lowerBound } from './lower-bound.ts'
import type { StateColumn } from './store.ts'

/** A range of keys in the order of their encoded bytes. */
export interface KeyRange<K> {
  /** First key, inclusive. */
  readonly gte?: K
  /** End key, exclusive. */
  readonly lt?: K
  /** Prefix of the encoded keys. */
  readonly prefix?: Uint8Array
  readonly limit?: number
  readonly reverse?: boolean
  /**
   * Omits keys that were added since the last commit. A scan that need not find them, such as a sweep, then does not
   * have to sort all changes.
   */
  readonly omitsNew?: boolean
}

/** A change that is not in the column yet. */
export interface ChangedKey {
  readonly bytes: Buffer
}

export interface ScanParts<Change extends ChangedKey, Shown> {
  readonly column: StateColumn
  /** Returns all changes in key order. Scans that omit new keys do not call it. */
  readonly sortedChanges: () => readonly Change[]
  /**
   * Returns the current value of a changed key, even if the change was committed after the scan had begun. The rows of
   * the column do not contain such a commit, because the scan reads the column as it was at the start.
   * @returns undefined if the key is deleted
   */
  readonly ofChange: (change: Change) => Shown | undefined
  /**
   * Called for each row that no change in `sortedChanges` replaces.
   * @returns the current state of the row; undefined if it has been deleted since
   */
  readonly ofRow: (row: readonly [key: Buffer, value: Buffer]) => Shown | undefined
}

export interface ByteBounds {
  readonly gte?: Buffer
  readonly lt?: Buffer
}

/** Merges the column's rows with the changes. A change replaces the row with the same key. */
export function* mergedScan<K, Change extends ChangedKey, Shown>(
  range: KeyRange<K>,
  encodedKey: (key: K) => Buffer,
  { column, sortedChanges, ofChange, ofRow }: ScanParts<Change, Shown>,
): Generator<Shown> {
  const { limit = Infinity, reverse = false, omitsNew = false } = range
  const direction = reverse ? -1 : 1
  const bounds = byteBounds(range, encodedKey)
  const changes = omitsNew ? [] : changesWithin(sortedChanges(), bounds, reverse)
  const rows = column.scan({ ...bounds, reverse })[Symbol.iterator]()
  let nextChange = 0
  let given = 0
  try {
    let row = rows.next()
    while (given < limit && (!row.done || nextChange < changes.length)) {
      const change = changes[nextChange]
      const order = row.done ? 1 : change === undefined ? -1 : Buffer.compare(row.value[0], change.bytes) * direction
      if (order >= 0) nextChange++
      const shown = row.done || order >= 0 ? ofChange(change) : ofRow(row.value)
      if (!row.done && order <= 0) row = rows.next()
      if (shown === undefined) continue
      given++
      yield shown
    }
  } finally {
    rows.return?.()
  }
}

export function byteBounds<K>({ gte, lt, prefix }: KeyRange<K>, encodedKey: (key: K) => Buffer): ByteBounds {
  const from = gte === undefined ? undefined : encodedKey(gte)
  const to = lt === undefined ? undefined : encodedKey(lt)
  if (prefix === undefined) return { gte: from, lt: to }
  const first = Buffer.from(prefix)
  const end = prefixEnd(prefix)
  return {
    gte: from && Buffer.compare(from, first) > 0 ? from : first,
    lt: to && (end === undefined || Buffer.compare(to, end) < 0) ? to : end,
  }
}

/** Returns the changes within the bounds, in scan order. */
function changesWithin<Change extends ChangedKey>(all: readonly Change[], { gte, lt }: ByteBounds, reverse: boolean): Change[] {
  const firstFrom = (key: Buffer) => lowerBound(all, ({ bytes }) => Buffer.compare(bytes, key) < 0)
  const changes = all.slice(gte && firstFrom(gte), lt && firstFrom(lt))
  return reverse ? changes.reverse() : changes
}

/** Returns the smallest key after all keys with the prefix; undefined when there is none (all bytes are 0xff). */
function prefixEnd(prefix: Uint8Array): Buffer | undefined {
  let length = prefix.length
  while (length > 0 && prefix[length - 1] === 0xff) length--
  if (length === 0) return undefined
  const end = Buffer.from(prefix.subarray(0, length))
  end[length - 1]++
  return end
}
