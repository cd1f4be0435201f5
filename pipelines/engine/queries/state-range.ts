import type { Codec } from '../../../schemas/codec.ts'
import { byteBounds } from '../../../state/stores/merged-scan.ts'
import type { AnyStoreLookup, StateColumn } from '../../../state/stores/store.ts'
import { QueryError } from './query-error.ts'

/** Default and maximum number of entries in a page. */
const PAGE_ENTRIES = 100
const MAX_PAGE_ENTRIES = 1_000
/**
 * A page ends after the entry that brings the page's rows above this size, so that a query neither blocks the event
 * loop for long nor takes much memory.
 */
const MAX_PAGE_BYTES = 1024 * 1024

/** A range of the keys of one partition, in the order of their encoded bytes. All keys in this object are encoded. */
export interface StateRange {
  readonly partition: number
  /** First key, inclusive. */
  readonly gte?: Buffer
  /** End key, exclusive. */
  readonly lt?: Buffer
  readonly prefix?: Buffer
  /** `next` of the previous page. The page begins after this key. */
  readonly after?: Buffer
  /** Maximum number of entries, from 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** True for descending order. Default: false. */
  readonly reverse?: boolean
}

export interface StateEntry<K, V> {
  readonly key: K
  /** The encoded key. */
  readonly keyBytes: Buffer
  readonly value: V
}

export interface StatePage<K, V> {
  readonly entries: readonly StateEntry<K, V>[]
  /** The encoded last key of the page, if the range contains further keys. Pass it as `after` to get the next page. */
  readonly next: Buffer | undefined
}

/** Checks the limit of a range. @throws QueryError if the limit is invalid */
export function checkLimit({ limit = PAGE_ENTRIES }: StateRange): void {
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_PAGE_ENTRIES))
    throw new QueryError('invalid_range', `the limit must be a whole number from 1 to ${MAX_PAGE_ENTRIES}`)
}

/** Reads a page synchronously, so all its entries belong to one commit. */
export function readPage(
  column: StateColumn,
  lookup: AnyStoreLookup,
  codec: Codec<unknown>,
  range: StateRange,
): StatePage<unknown, unknown> {
  const { limit = PAGE_ENTRIES, reverse = false } = range
  const { key, rowPrefix } = lookup
  const entries: StateEntry<unknown, unknown>[] = []
  let bytes = 0
  // The scan reads one entry more than the page can hold, to find out whether the range continues.
  for (const [row, value] of column.scan({ ...rowBounds(rowPrefix, range), reverse, limit: limit + 1 })) {
    if (entries.length === limit || bytes > MAX_PAGE_BYTES) return { entries, next: entries.at(-1)?.keyBytes }
    const keyBytes = row.subarray(rowPrefix.length)
    entries.push({ key: key.decode(keyBytes, 0, keyBytes.length), keyBytes, value: lookup.view(codec.decode(value, 0, value.length)) })
    bytes += row.length + value.length
  }
  return { entries, next: undefined }
}

function rowBounds(rowPrefix: Buffer, { gte, lt, prefix, after, reverse }: StateRange): { gte?: Buffer; lt?: Buffer } {
  const rowKey = (key: Buffer) => (rowPrefix.length === 0 ? key : Buffer.concat([rowPrefix, key]))
  const first = after === undefined || reverse ? gte : greater(gte, Buffer.concat([after, Buffer.of(0)]))
  const end = after === undefined || !reverse ? lt : lesser(lt, after)
  return byteBounds({ gte: first, lt: end, prefix: rowKey(prefix ?? Buffer.alloc(0)) }, rowKey)
}

function greater(a: Buffer | undefined, b: Buffer): Buffer {
  return a !== undefined && Buffer.compare(a, b) > 0 ? a : b
}

function lesser(a: Buffer | undefined, b: Buffer): Buffer {
  return a !== undefined && Buffer.compare(a, b) < 0 ? a : b
}
