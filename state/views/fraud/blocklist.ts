import { BLOCKLIST_TYPES } from '../../../schemas/fraud/blocklist/entity.ts'
import { blocklistFlow } from '../../../schemas/fraud/blocklist/flow.ts'
import type { FraudBlocklistEntry, FraudBlocklistType } from '../../../schemas/fraud/types.ts'
import { readableJson } from '../readable.ts'
import {
  type ListReader,
  missingPartitions,
  NOT_CAUGHT_UP,
  type View,
  type ViewOperation,
  type ViewReader,
  viewTag,
  withCaughtUp,
} from '../view.ts'

/**
 * The blocklist as analysts read it. Scoring does not use this view, but a copy of the blocklist in memory. Fed by
 * `fraud-blocklist-decisions` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-blocklist:<p>}:entry:<entry_id>` | the entry as JSON |
 * | `{fraud-blocklist:<p>}:entries:<entity_type>` | sorted set with equal scores: places (sort keys) of entries, newest first |
 *
 * The place of an entry, which is its sort key, is `<16 digits that decrease with creation time>-<entry_id>`, so
 * lexical order is newest first.
 */
export const FRAUD_BLOCKLIST_VIEW = blocklistFlow.name

const PLACE_DIGITS = 16
const PLACE = /^\d{16}-[0-9a-f]{32}$/

export const fraudBlocklistView: View<string, FraudBlocklistEntry> = {
  name: FRAUD_BLOCKLIST_VIEW,
  heldKey: entryKey,
  operationsFor(partition, entryId, entry, context) {
    const operations: ViewOperation[] = []
    const key = entryKey(partition, entryId)
    const held = readableJson<FraudBlocklistEntry>(context?.held ?? null)
    if (held !== undefined) operations.push({ op: 'zrem', key: listKey(partition, held.entity_type), member: placeOf(held) })
    if (entry === null) return [...operations, { op: 'del', key }]
    operations.push({ op: 'set', key, value: JSON.stringify(entry) })
    operations.push({ op: 'zadd', key: listKey(partition, entry.entity_type), score: 0, member: placeOf(entry) })
    return operations
  },
}

/** @returns undefined if there is no such entry */
export async function readBlocklistEntry(
  reader: ViewReader,
  partition: number,
  entryId: string,
): Promise<FraudBlocklistEntry | undefined | typeof NOT_CAUGHT_UP> {
  const found = await withCaughtUp(reader, FRAUD_BLOCKLIST_VIEW, partition, reader.get(entryKey(partition, entryId)))
  return found === null ? undefined : found === NOT_CAUGHT_UP ? found : (JSON.parse(found) as FraudBlocklistEntry)
}

export interface BlocklistSelection {
  /** Undefined selects all types. */
  readonly type: FraudBlocklistType | undefined
  /**
   * The place after which the page begins, as an earlier page returned it. Undefined: the page begins with the newest
   * entry.
   */
  readonly after: string | undefined
  readonly limit: number
}

export interface BlocklistPage {
  /** Newest first. */
  readonly entries: readonly FraudBlocklistEntry[]
  /** The place at which the page ends; undefined if no entry follows. */
  readonly next: string | undefined
}

export async function readBlocklist(
  reader: ViewReader & ListReader,
  partitions: number,
  { type, after, limit }: BlocklistSelection,
): Promise<BlocklistPage | typeof NOT_CAUGHT_UP> {
  const from = after === undefined ? '-' : `(${after}`
  const types = type === undefined ? BLOCKLIST_TYPES : [type]
  const lists = Array.from({ length: partitions }, (_, partition) => types.map((of) => ({ partition, key: listKey(partition, of) }))).flat()
  // Reads one entry more than the page contains, to find out whether another entry follows.
  const found = await Promise.all(
    lists.map(async ({ partition, key }) => placed(partition, await reader.zrangebylex(key, from, '+', 0, limit + 1))),
  )
  const sorted = found.flat().sort((one, other) => (one.place < other.place ? -1 : 1))
  const page = sorted.slice(0, limit)
  const [texts, missing] = await Promise.all([
    Promise.all(page.map(({ partition, place }) => reader.get(entryKey(partition, place.slice(PLACE_DIGITS + 1))))),
    // The flags are requested last: if entries are missing because Redis was emptied, the flags are missing too.
    missingPartitions(reader, FRAUD_BLOCKLIST_VIEW, partitions),
  ])
  if (missing.length > 0) return NOT_CAUGHT_UP
  // An entry that was removed since its place was read is left out.
  const entries = texts.flatMap((text) => readableJson<FraudBlocklistEntry>(text) ?? [])
  return { entries, next: sorted.length > limit ? page.at(-1)?.place : undefined }
}

/** Returns whether a string has the form of an entry's place. */
export function isBlocklistPlace(text: string): boolean {
  return PLACE.test(text)
}

function placed(partition: number, places: readonly string[]) {
  return places.map((place) => ({ partition, place }))
}

function placeOf({ created_at, entry_id }: FraudBlocklistEntry): string {
  return `${String(Number.MAX_SAFE_INTEGER - created_at).padStart(PLACE_DIGITS, '0')}-${entry_id}`
}

function entryKey(partition: number, entryId: string): string {
  return `${viewTag(FRAUD_BLOCKLIST_VIEW, partition)}:entry:${entryId}`
}

function listKey(partition: number, type: FraudBlocklistType): string {
  return `${viewTag(FRAUD_BLOCKLIST_VIEW, partition)}:entries:${type}`
}
