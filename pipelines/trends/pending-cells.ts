import type { Tweet } from '../../schemas/trends/types.ts'
import { addTweet, newCell, type TermCell } from './cells.ts'

/** Up to this number of cells, a search is faster than a map, and nearly all terms have one or two. */
const MAX_SEARCHED = 8

/** One contribution, which is all that most terms get between two commits. */
export interface PendingContribution {
  readonly place: number
  readonly original: string
  readonly minute: number
  readonly tweet: Tweet
}

export interface PendingCells {
  readonly cells: TermCell[]
  byPlace: Map<number, TermCell> | undefined
}

export type PendingTerm = PendingContribution | PendingCells

export type Pending = ReadonlyMap<string, PendingTerm>

/** Contributions since the last commit, combined by term and place, so that repeated terms of a burst are sent once. */
export function pendingCells() {
  let pending = new Map<string, PendingTerm>()

  function add(term: string, place: number, original: string, minute: number, tweet: Tweet): void {
    const known = pending.get(term)
    if (known === undefined) pending.set(term, { place, original, minute, tweet })
    else if ('tweet' in known) pending.set(term, togetherWith(known, place, original, minute, tweet))
    else addTo(known, place, original, minute, tweet)
  }

  function togetherWith(first: PendingContribution, place: number, original: string, minute: number, tweet: Tweet): PendingCells {
    const term: PendingCells = { cells: [newCell(first.place, first.original, first.minute, first.tweet)], byPlace: undefined }
    addTo(term, place, original, minute, tweet)
    return term
  }

  function addTo(term: PendingCells, place: number, original: string, minute: number, tweet: Tweet): void {
    const cell = cellOf(term, place)
    if (cell !== undefined) {
      addTweet(cell, original, minute, tweet)
      return
    }
    const added = newCell(place, original, minute, tweet)
    term.cells.push(added)
    if (term.byPlace !== undefined) term.byPlace.set(place, added)
    else if (term.cells.length > MAX_SEARCHED) term.byPlace = new Map(term.cells.map((each) => [each.place, each]))
  }

  function cellOf({ cells, byPlace }: PendingCells, place: number): TermCell | undefined {
    return byPlace === undefined ? cells.find((each) => each.place === place) : byPlace.get(place)
  }

  /** Returns all contributions and clears them. */
  function drain(): Pending {
    const drained = pending
    pending = new Map()
    return drained
  }

  return { add, drain }
}
