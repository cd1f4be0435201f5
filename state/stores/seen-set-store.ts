import { avroValue } from '../../schemas/avro/value.ts'
import type { Codec } from '../../schemas/codec.ts'
import { packedStore } from './packed-store.ts'
import { type ChangedPage, changedPages } from './seen-set/changes.ts'
import { fingerprintIn, type ItemHash, pageIn } from './seen-set/item-hash.ts'
import { oldestLive, type SeenSetLayout, type SeenSetShape, seenSetLayout, unitOf } from './seen-set/layout.ts'
import {
  decodePage,
  encodePage,
  entriesOf,
  isOnlyPage,
  MAX_PAGE_BYTES,
  MAX_PAGE_ENTRIES,
  markAsOnly,
  type Page,
  withoutMark,
} from './seen-set/page.ts'
import { itemHasher } from './seen-set/reader.ts'
import { pagesOfSet, type SeenSetRow, seenSetRows } from './seen-set/rows.ts'
import { addFingerprint, dropBefore, newestStartWith } from './seen-set/runs.ts'
import type { ChangelogWriter, EngineStore } from './store.ts'
import { storeLife } from './store-life.ts'

export interface SeenSetOptions<K, I> extends SeenSetShape {
  readonly key: Codec<K>
  readonly item: Codec<I>
  /** Whether changes are collected for `takeChanges`, which must then be called before each commit. Default false. */
  readonly collectChanges?: boolean
  /** Whether the store has a changelog. Default true. */
  readonly logged?: boolean
  /** Memory for cached rows per task, in bytes. Default: the worker's setting. */
  readonly cacheBytes?: number
}

/**
 * Stores a set of items per key, with a short fingerprint of each item. The set may report a new item as seen, but
 * never reports a remembered item as new. An item expires after the set's lifetime, or up to a tenth later. A full page
 * drops its oldest items earlier. A set consists of pages of at most 512 bytes, and adding an item changes the items of
 * at most one of them. Use `seenSetReader` to read copies of pages outside the engine.
 *
 * Times are epoch ms of a clock that the caller chooses, such as the timestamps of records.
 */
export interface SeenSetStore<K, I> extends EngineStore {
  /** Announces that the item will be added or looked up. */
  prefetch(key: K, item: I): void
  /**
   * Remembers the item, starting at `time`. Adding the item again renews its lifetime.
   * @returns true when the item is certainly new or has expired
   */
  add(key: K, item: I, time: number): boolean
  has(key: K, item: I, now: number): boolean
  /**
   * Returns the number of items that the set remembers. The number may exclude new items that were mistaken for seen
   * items, and may count a renewed item twice. Reads the whole set.
   */
  size(key: K, now: number): number
  pages(key: K): SeenSetPage[]
  delete(key: K): void
  /**
   * Checks pages whose items may all have expired, and removes expired items. Deletes pages without items, so the sets
   * of idle keys disappear.
   * @param limit maximum number of pages
   * @returns the number of pages that were checked. If the number equals `limit`, more pages may be due.
   */
  expire(now: number, limit: number): number
  /**
   * Returns the pages that changed since the last call, for copies of the sets. Requires `collectChanges`. Call it in
   * `beforeCommit`, so that each commit contains every changed page once.
   */
  takeChanges(): SeenSetChange<K, I>[]
}

export interface SeenSetPage {
  readonly page: number
  readonly bytes: Buffer
}

export interface SeenSetChange<K, I> extends ChangedPage<K, I> {
  /** The current page; undefined when it was deleted. */
  readonly bytes: Buffer | undefined
}

/** A page in which an item may be stored. */
interface Place {
  readonly page: number
  /** The stored page; undefined when the set does not have this page. */
  readonly bytes: Buffer | undefined
  readonly runs: Page
  readonly fingerprintBits: number
  readonly fingerprint: number
}

const NOTHING = Buffer.alloc(0)
/** The only page of the first layer. */
const FIRST_PAGE = 0
/**
 * Maximum size in bytes of an item in a page. A page with less free space counts as full, without an attempt to encode
 * the item.
 */
const ROOM_BYTES = 8
/**
 * The first page is marked as the only page only if at least this many more items fit into it. With less room, a second
 * page will follow soon.
 */
const ROOM_OF_ONLY = 4
/** Maximum number of sets in `spread`, the sets that may have more than one page. */
const MAX_SPREAD = 20_000

/** @throws RangeError when the capacity, the error rate or the lifetime is invalid */
export function seenSetStore<K, I>(name: string, options: SeenSetOptions<K, I>): SeenSetStore<K, I> {
  const layout = layoutFor(name, options)
  const { layers, spanUnits } = layout
  const hashOf = itemHasher(options.item)
  const rowCodec = seenSetRows(options.key)
  const rows = packedStore<SeenSetRow<K>, Buffer>(name, {
    key: rowCodec,
    value: avroValue<Buffer>('bytes'),
    logged: options.logged,
    cacheBytes: options.cacheBytes,
  })
  const changes = options.collectChanges === true ? changedPages<K, I>(options.key) : undefined
  /** Sets that may have more than the first page. Their other pages are read together with the first one. */
  const spread = new Set<unknown>()
  /**
   * Sets in which a page other than the first was changed since the last flush (`added`), or before a flush that is not
   * committed yet (`flushed`).
   */
  let added = new Set<unknown>()
  let flushed = new Set<unknown>()
  /** The earliest start of a page that may be due. A scan from here skips the tombstones of earlier checks. */
  let firstDue = 0

  function bytesOf(key: K, page: number): Buffer | undefined {
    return rows.get({ kind: 'page', key, page })
  }

  function bitsOf(page: number): number {
    return (layers.findLast(({ firstPage }) => firstPage <= page) ?? layers[0]).fingerprintBits
  }

  /**
   * Returns the pages in which the item may be stored, one per layer. If the first page is marked as the only one, no
   * other page is read.
   */
  function placesOf(key: K, hash: ItemHash): Place[] {
    let isOnly = false
    return layers.map((layer) => {
      const page = pageIn(layer, hash)
      const bytes = isOnly ? undefined : bytesOf(key, page)
      const runs = bytes === undefined ? [] : decodePage(bytes, layer.fingerprintBits)
      if (page === FIRST_PAGE && bytes !== undefined) {
        isOnly = isOnlyPage(bytes)
        if (!isOnly) noteSpread(key)
      }
      return { page, bytes, runs, fingerprintBits: layer.fingerprintBits, fingerprint: fingerprintIn(layer, hash) }
    })
  }

  /**
   * Returns an id that is the same for equal keys. Keys that are objects are equal when their encoded bytes are equal.
   */
  function idOf(key: K): unknown {
    return typeof key === 'object' ? pagesOfSet(rowCodec, key).toString('latin1') : key
  }

  function noteSpread(key: K): void {
    if (spread.size >= MAX_SPREAD) spread.clear()
    spread.add(idOf(key))
  }

  /** Writes a page with one more item. */
  function putPage(key: K, [first]: readonly Place[], place: Place, encoded: Buffer, entries: number): void {
    if (place.page === FIRST_PAGE) {
      if (canBeOnly(encoded, entries) && isOnlyOne(key, place.bytes)) markAsOnly(encoded)
    } else {
      added.add(idOf(key))
      if (first.bytes !== undefined && isOnlyPage(first.bytes)) {
        rows.put({ kind: 'page', key, page: FIRST_PAGE }, withoutMark(first.bytes))
      }
    }
    rows.put({ kind: 'page', key, page: place.page }, encoded)
  }

  /**
   * Returns whether the set has only the first page. Without a mark, the page may still be the only one, so the rows of
   * the set are checked.
   */
  function isOnlyOne(key: K, first: Buffer | undefined): boolean {
    if (first !== undefined && isOnlyPage(first)) return true
    // The scan below omits uncommitted pages, because including these would require sorting all changes. Sets with
    // uncommitted pages are in `added` or `flushed`.
    if (added.has(idOf(key)) || flushed.has(idOf(key))) return false
    for (const [row] of rows.scan({ prefix: pagesOfSet(rowCodec, key), limit: 2, omitsNew: true })) {
      if (pageOf(row).page !== FIRST_PAGE) return false
    }
    return true
  }

  /** Stores the item in the first of its pages with enough room. */
  function remember(key: K, places: readonly Place[], unit: number, oldest: number): Place {
    for (const place of places) {
      const { page, bytes, runs, fingerprintBits, fingerprint } = place
      const { length } = runs
      dropBefore(runs, oldest)
      if (bytes !== undefined && runs.length === length && isFull(bytes, runs)) continue
      const changed = copyOf(runs)
      addFingerprint(changed, unit, spanUnits, fingerprint)
      const encoded = encodePage(changed, fingerprintBits)
      if (encoded === undefined) continue
      putPage(key, places, place, encoded, entriesOf(changed))
      if (bytes === undefined) checkLater(key, page, unit)
      return place
    }
    return rememberInstead(key, places, unit)
  }

  /**
   * Stores the item although all of its pages are full. Chooses the page with the oldest run, and removes the oldest
   * runs of that page to make room.
   */
  function rememberInstead(key: K, places: readonly Place[], unit: number): Place {
    const oldest = places.reduce((found, place) => (endOf(place.runs) < endOf(found.runs) ? place : found))
    let encoded: Buffer | undefined
    let changed: Page = []
    while (encoded === undefined) {
      oldest.runs.pop()
      changed = copyOf(oldest.runs)
      // The span is 0, so that no run contains both items from before the removal and items from after it.
      addFingerprint(changed, unit, 0, oldest.fingerprint)
      encoded = encodePage(changed, oldest.fingerprintBits)
    }
    putPage(key, places, oldest, encoded, entriesOf(changed))
    return oldest
  }

  function checkLater(key: K, page: number, start: number): void {
    rows.put({ kind: 'due', start, key, page }, NOTHING)
    firstDue = Math.min(firstDue, start)
  }

  function check(key: K, page: number, oldest: number): void {
    const bytes = bytesOf(key, page)
    if (bytes === undefined) return
    const runs = decodePage(bytes, bitsOf(page))
    const { length } = runs
    dropBefore(runs, oldest)
    if (runs.length > 0) checkLater(key, page, runs[0].start)
    if (runs.length === length) return
    if (runs.length === 0) rows.delete({ kind: 'page', key, page })
    else {
      const rest = encodePage(runs, bitsOf(page)) as Buffer
      if (isOnlyPage(bytes)) markAsOnly(rest)
      rows.put({ kind: 'page', key, page }, rest)
    }
    changes?.note(key, page)
  }

  function pagesOf(key: K): SeenSetPage[] {
    return Array.from(rows.scan({ prefix: pagesOfSet(rowCodec, key) }), ([row, bytes]) => ({
      page: pageOf(row).page,
      bytes: withoutMark(bytes),
    }))
  }

  return Object.assign(storeLife(rows), {
    // A set has several rows, so the store has no lookup by key alone.
    lookup: undefined,
    flush(changelog: ChangelogWriter | undefined) {
      if (changes !== undefined && changes.size > 0) {
        throw new Error(`store ${name}: the commit would lose ${changes.size} changed pages; call takeChanges in beforeCommit`)
      }
      rows.flush(changelog)
      flushed = added
      added = new Set()
    },
    committed() {
      rows.committed()
      flushed = new Set()
    },
    discard() {
      changes?.take()
      added = new Set()
      flushed = new Set()
      firstDue = 0
      rows.discard()
    },
    prefetch(key: K, item: I) {
      rows.prefetch({ kind: 'page', key, page: FIRST_PAGE })
      let hash: ItemHash
      try {
        if (!spread.has(idOf(key))) return
        hash = hashOf(item)
      } catch {
        return // The processor that uses the key or the item gets the error.
      }
      for (const layer of layers.slice(1)) rows.prefetch({ kind: 'page', key, page: pageIn(layer, hash) })
    },
    add(key: K, item: I, time: number) {
      const hash = hashOf(item)
      const unit = unitOf(layout, time)
      const oldest = oldestLive(layout, time)
      const places = placesOf(key, hash)
      const known = lastAdded(places)
      if (known >= 0 && known + spanUnits >= unit) return false
      const { page } = remember(key, places, unit, oldest)
      changes?.note(key, page, item)
      return known < oldest
    },
    has(key: K, item: I, now: number) {
      return lastAdded(placesOf(key, hashOf(item))) >= oldestLive(layout, now)
    },
    size(key: K, now: number) {
      const oldest = oldestLive(layout, now)
      return pagesOf(key).reduce((items, { page, bytes }) => {
        const runs = decodePage(bytes, bitsOf(page))
        dropBefore(runs, oldest)
        return items + entriesOf(runs)
      }, 0)
    },
    pages: pagesOf,
    delete(key: K) {
      for (const { page } of pagesOf(key)) {
        rows.delete({ kind: 'page', key, page })
        changes?.note(key, page)
      }
    },
    expire(now: number, limit: number) {
      const end = oldestLive(layout, now)
      // This call checks the caller's access to the store, so it precedes the early return. The scan itself only begins
      // with the loop.
      const scan = rows.scan({ gte: { kind: 'due-from', start: firstDue }, lt: { kind: 'due-from', start: end }, limit })
      if (end <= firstDue) return 0
      const due = Array.from(scan, ([row]) => row)
      for (const row of due) rows.prefetch({ kind: 'page', ...pageOf(row) })
      rows.loadPrefetched()
      for (const row of due) {
        const { key, page } = pageOf(row)
        rows.delete(row)
        check(key, page, end)
      }
      if (due.length < limit) firstDue = end
      return due.length
    },
    takeChanges() {
      // This scan reads nothing. It only checks the caller's access to the store.
      rows.scan({ limit: 0 })
      if (changes === undefined) throw new Error(`store ${name} collects no changes: set its option collectChanges`)
      return changes.take().map((change) => {
        const bytes = bytesOf(change.key, change.page)
        return { ...change, bytes: bytes && withoutMark(bytes) }
      })
    },
  })
}

function layoutFor(name: string, shape: SeenSetShape): SeenSetLayout {
  try {
    return seenSetLayout(shape)
  } catch (error) {
    throw new RangeError(`store ${name}: ${(error as Error).message}`)
  }
}

/** Returns the start of the newest run that contains the item; -1 when no run does. */
function lastAdded(places: readonly Place[]): number {
  return places.reduce((newest, { runs, fingerprint }) => Math.max(newest, newestStartWith(runs, fingerprint) ?? -1), -1)
}

function canBeOnly(encoded: Buffer, entries: number): boolean {
  return encoded.length <= MAX_PAGE_BYTES - ROOM_OF_ONLY * ROOM_BYTES && entries <= MAX_PAGE_ENTRIES - ROOM_OF_ONLY
}

function isFull(bytes: Buffer, runs: Page): boolean {
  return bytes.length > MAX_PAGE_BYTES - ROOM_BYTES || entriesOf(runs) >= MAX_PAGE_ENTRIES
}

/** Returns the start of the oldest run. */
function endOf(runs: Page): number {
  return runs[runs.length - 1].start
}

function copyOf(runs: Page): Page {
  return runs.map(({ start, fingerprints }) => ({ start, fingerprints: [...fingerprints] }))
}

/** Returns the set and the page to which a row belongs. Bounds of scans are never stored as rows. */
function pageOf<K>(row: SeenSetRow<K>): { readonly key: K; readonly page: number } {
  if (row.kind === 'due-from') throw new Error('unexpected: the store contains a scan bound as a row')
  return { key: row.key, page: row.page }
}
