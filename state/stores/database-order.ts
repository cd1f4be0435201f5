/** The part of a cache entry that sorting needs. */
interface Keyed {
  readonly key: unknown
}

/** Number of keys below which sorting does not pay off. */
const FEW_KEYS = 32
/** Number of entries that an index of 16 bits can address. Transactions rarely change more keys. */
const MOST_KEYS = 2 ** 16
/**
 * Number of characters that are compared. At 7 bits each, they fit into the 53 bits of a number together with the
 * index.
 */
const COMPARED_UNITS = 5
/** Number of different character codes. All characters outside of ASCII count as the last code. */
const CODES = 128

/**
 * Sorts entries with text keys approximately by key. RocksDB inserts sorted keys in half the time, because each row
 * goes next to the previous one and no search is needed. An entry out of order only costs time, so the order depends
 * only on the first few characters after the common prefix. These characters are packed into numbers, because sorting
 * numbers takes a third of the time of sorting texts. Other keys stay unsorted, because sorting them would require
 * encoding them first.
 */
export function sortForDatabase<E extends Keyed>(entries: E[]): E[] {
  if (entries.length < FEW_KEYS || entries.length > MOST_KEYS || typeof entries[0].key !== 'string') return entries
  const from = commonStart(entries)
  const ranks = new Float64Array(entries.length)
  for (let i = 0; i < entries.length; i++) ranks[i] = rankOf(entries[i].key as string, from) * MOST_KEYS + i
  ranks.sort()
  const sorted = new Array<E>(entries.length)
  for (let i = 0; i < ranks.length; i++) sorted[i] = entries[ranks[i] % MOST_KEYS]
  return sorted
}

/** Returns the length of the prefix that all keys share, in characters. */
function commonStart(entries: readonly Keyed[]): number {
  const first = entries[0].key as string
  let { length } = first
  for (let i = 1; i < entries.length && length > 0; i++) {
    const key = entries[i].key as string
    let same = 0
    while (same < length && key.charCodeAt(same) === first.charCodeAt(same)) same++
    length = same
  }
  return length
}

/** Returns the first characters of a key from `from` on, packed into a number that sorts like them. */
function rankOf(key: string, from: number): number {
  let rank = 0
  for (let unit = from; unit < from + COMPARED_UNITS; unit++)
    rank = rank * CODES + (unit < key.length ? Math.min(key.charCodeAt(unit), CODES - 1) : 0)
  return rank
}
