import type { CellsOfTerm, TermCell, Tweet } from '../../schemas/trends/types.ts'
import { addTweet, newCell } from './cells.ts'

/** Up to this number of cells, a search is faster than a map, and nearly all terms have one or two. */
const MAX_SEARCHED = 8

interface PendingTerm extends CellsOfTerm {
  byPlace: Map<number, TermCell> | undefined
}

/** Contributions since the last commit, combined by term and place, so that repeated terms of a burst are sent once. */
export function pendingCells() {
  let pending = new Map<string, PendingTerm>()

  function add(term: string, place: number, original: string, minute: number, tweet: Tweet): void {
    const known = pending.get(term)
    if (known === undefined) {
      pending.set(term, { term, cells: [newCell(place, original, minute, tweet)], byPlace: undefined })
      return
    }
    const cell = cellOf(known, place)
    if (cell !== undefined) {
      addTweet(cell, original, minute, tweet)
      return
    }
    const added = newCell(place, original, minute, tweet)
    known.cells.push(added)
    if (known.byPlace !== undefined) known.byPlace.set(place, added)
    else if (known.cells.length > MAX_SEARCHED) known.byPlace = new Map(known.cells.map((each) => [each.place, each]))
  }

  function cellOf({ cells, byPlace }: PendingTerm, place: number): TermCell | undefined {
    return byPlace === undefined ? cells.find((each) => each.place === place) : byPlace.get(place)
  }

  /** Returns all contributions and clears them. */
  function drain(): Iterable<CellsOfTerm> {
    const drained = pending.values()
    pending = new Map()
    return drained
  }

  return { add, drain }
}
