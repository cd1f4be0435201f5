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
  all(): readonly Candidate[]
}

/** About this many candidates are ranked. */
const MAX_CANDIDATES = 500

const ORDER = Object.fromEntries(CHANNELS.map((channel, place) => [channel, place])) as Readonly<Record<Channel, number>>

/** @param isExcluded called once per row */
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

/** Makes a candidate of which its channel says nothing yet. */
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
