/**
 * The channels that name candidates. If several channels name an item, the explanation comes from the channel that is
 * first in this list.
 */
export const CHANNELS = ['neighbours', 'vector', 'category', 'preference', 'editorial', 'trending', 'popular', 'exploration'] as const
export type Channel = (typeof CHANNELS)[number]

/** An item that may be recommended, with the scores and flags from its channels. */
export interface Candidate {
  readonly row: number
  readonly itemId: bigint
  /**
   * The channel that explains the item. If several channels named the item, it is the one that comes first in CHANNELS.
   */
  channel: Channel
  /** The item to which this item is similar: the item on which the list is based, or one of the user's last items. */
  sourceItemId: bigint | undefined
  vectorSimilarity: number
  neighbourScore: number
  /**
   * How strongly the user's last items suggest this item: the highest strength, the strength from the newest item, and
   * the number of items that suggest this item. If the list is based on an item, that item counts instead of the last
   * items.
   */
  neighbourBest: number
  neighbourLast: number
  neighbourCount: number
  anchorSimilarity: number
  trendingScore: number
  isEditorial: boolean
}

export interface CandidateSet {
  readonly size: number
  /**
   * Adds the item in a row of the item table. If another channel has already named the item, only determines which of
   * the two channels explains it.
   * @returns the candidate of the row; undefined if the item is excluded, the row is negative, or the set is full and
   * does not contain the item
   */
  of(row: number, channel: Channel): Candidate | undefined
  /** Returns the candidate of a row; undefined if no channel has named the row or the item is excluded. */
  known(row: number): Candidate | undefined
  all(): readonly Candidate[]
}

/** Maximum number of candidates that are collected and ranked. */
const MAX_CANDIDATES = 500

const ORDER = Object.fromEntries(CHANNELS.map((channel, place) => [channel, place])) as Readonly<Record<Channel, number>>

/** @param isExcluded returns whether an item must not be recommended; called at most once per row */
export function candidateSet(idAt: (row: number) => bigint, isExcluded: (row: number, itemId: bigint) => boolean): CandidateSet {
  const found = new Map<number, Candidate | undefined>()
  const all: Candidate[] = []

  function add(row: number, channel: Channel): Candidate | undefined {
    if (all.length >= MAX_CANDIDATES) return undefined
    const itemId = idAt(row)
    const candidate = isExcluded(row, itemId) ? undefined : newCandidate(row, itemId, channel)
    found.set(row, candidate)
    if (candidate !== undefined) all.push(candidate)
    return candidate
  }

  return {
    get size() {
      return all.length
    },
    of(row, channel) {
      if (row < 0) return undefined
      const candidate = found.get(row)
      if (candidate === undefined) return found.has(row) ? undefined : add(row, channel)
      if (ORDER[channel] < ORDER[candidate.channel]) candidate.channel = channel
      return candidate
    },
    known: (row) => found.get(row),
    all: () => all,
  }
}

/** Creates a candidate with all scores set to 0. */
export function newCandidate(row: number, itemId: bigint, channel: Channel): Candidate {
  return {
    row,
    itemId,
    channel,
    sourceItemId: undefined,
    vectorSimilarity: 0,
    neighbourScore: 0,
    neighbourBest: 0,
    neighbourLast: 0,
    neighbourCount: 0,
    anchorSimilarity: 0,
    trendingScore: 0,
    isEditorial: false,
  }
}
