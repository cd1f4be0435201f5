/** The sources of candidates, in the order in which they explain an item. */
export const CHANNELS = ['neighbours', 'vector', 'category', 'preference', 'editorial', 'trending', 'popular', 'exploration'] as const
export type Channel = (typeof CHANNELS)[number]

/** An item that may be recommended, with everything that its channels say about it. */
export interface Candidate {
  readonly row: number
  readonly itemId: bigint
  /** The first channel, in the order of CHANNELS, that named the item. */
  channel: Channel
  /** The item that makes this one a candidate. */
  sourceItemId: bigint | undefined
  vectorSimilarity: number
  neighbourScore: number
  /** The greatest strength among the last items, that of the newest one, and how many of them name this one. */
  neighbourBest: number
  neighbourLast: number
  neighbourCount: number
  anchorSimilarity: number
  trendingScore: number
  isEditorial: boolean
}

/** The candidates of a request. */
export interface CandidateSet {
  readonly size: number
  /** @returns the candidate, which is a new one if no channel has named the row before; undefined for excluded rows */
  of(row: number, channel: Channel): Candidate | undefined
  /** @returns the candidate of a row that a channel has named already */
  known(row: number): Candidate | undefined
  all(): Candidate[]
}

/** About this many candidates are ranked. */
const MAX_CANDIDATES = 500

/** @param isExcluded called once per row */
export function candidateSet(idAt: (row: number) => bigint, isExcluded: (row: number, itemId: bigint) => boolean): CandidateSet {
  const found = new Map<number, Candidate | undefined>()
  let size = 0

  return {
    get size() {
      return size
    },
    of(row, channel) {
      if (row < 0) return undefined
      if (!found.has(row)) {
        if (size >= MAX_CANDIDATES) return undefined
        const itemId = idAt(row)
        const isOut = isExcluded(row, itemId)
        found.set(row, isOut ? undefined : newCandidate(row, itemId, channel))
        if (!isOut) size++
      }
      const candidate = found.get(row)
      if (candidate !== undefined && CHANNELS.indexOf(channel) < CHANNELS.indexOf(candidate.channel)) candidate.channel = channel
      return candidate
    },
    known: (row) => found.get(row),
    all: () => [...found.values()].filter((candidate) => candidate !== undefined),
  }
}

function newCandidate(row: number, itemId: bigint, channel: Channel): Candidate {
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
