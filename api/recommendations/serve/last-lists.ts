import { LRUCache } from 'lru-cache'
import { CHANNELS } from '../candidates/candidate.ts'
import { REC_TYPES } from '../candidates/generate.ts'
import type { ListedItem } from './page-token.ts'

/**
 * The last personalized list of each user. It is served again while the user's features cannot be read or the model's
 * vectors are unavailable: docs/services/recommendations.md#degraded
 */
export interface LastLists {
  keep(userId: bigint, list: LastList): void
  /** Returns the last list of a user; undefined if it is older than 30 minutes or not kept. */
  of(userId: bigint): LastList | undefined
}

export interface LastList {
  readonly items: readonly ListedItem[]
  /** The version of the model that made the list, which may no longer be in force. */
  readonly modelVersion: string
  /** Whether the list exceeds the limit per genre. */
  readonly isCapRelaxed: boolean
}

interface KeptList extends Omit<LastList, 'items'> {
  readonly packed: Buffer
  /** Epoch ms. */
  readonly at: number
}

const MAX_USERS = 10_000
const VALID_MS = 30 * 60_000
/** Layout of a packed item: the id (8 bytes), the score (8), the source or 0 (8), the type (1) and the channel (1). */
const SCORE_OFFSET = 8
const SOURCE_OFFSET = 16
const TYPE_OFFSET = 24
const CHANNEL_OFFSET = 25
const ITEM_BYTES = 26
/** Marks an item without a source item. The value cannot be an id, because ids are positive. */
const NO_SOURCE = 0n

/** @param now epoch ms */
export function lastLists(now: () => number): LastLists {
  const lists = new LRUCache<bigint, KeptList>({ max: MAX_USERS })
  return {
    keep: (userId, { items, modelVersion, isCapRelaxed }) =>
      void lists.set(userId, { packed: pack(items), modelVersion, isCapRelaxed, at: now() }),
    of(userId) {
      const kept = lists.get(userId)
      if (kept === undefined || now() - kept.at > VALID_MS) return undefined
      const { packed, modelVersion, isCapRelaxed } = kept
      return { items: unpack(packed), modelVersion, isCapRelaxed }
    },
  }
}

/** Packs a list into bytes. As objects, 50 items would take 6 KB per user. */
function pack(list: readonly ListedItem[]): Buffer {
  const packed = Buffer.allocUnsafeSlow(list.length * ITEM_BYTES)
  list.forEach(({ itemId, score, recType, channel, sourceItemId = NO_SOURCE }, index) => {
    const start = index * ITEM_BYTES
    packed.writeBigInt64LE(itemId, start)
    packed.writeDoubleLE(score, start + SCORE_OFFSET)
    packed.writeBigInt64LE(sourceItemId, start + SOURCE_OFFSET)
    packed[start + TYPE_OFFSET] = REC_TYPES.indexOf(recType)
    packed[start + CHANNEL_OFFSET] = CHANNELS.indexOf(channel)
  })
  return packed
}

function unpack(packed: Buffer): ListedItem[] {
  return Array.from({ length: packed.length / ITEM_BYTES }, (_, index) => {
    const start = index * ITEM_BYTES
    const sourceItemId = packed.readBigInt64LE(start + SOURCE_OFFSET)
    return {
      itemId: packed.readBigInt64LE(start),
      score: packed.readDoubleLE(start + SCORE_OFFSET),
      recType: REC_TYPES[packed[start + TYPE_OFFSET]],
      channel: CHANNELS[packed[start + CHANNEL_OFFSET]],
      sourceItemId: sourceItemId === NO_SOURCE ? undefined : sourceItemId,
    }
  })
}
