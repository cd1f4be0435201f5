import { addTweet, type Contribution, newCell, type TermCell } from './cells.ts'

/**
 * Maximum number of cells that are searched one by one. Up to this number a search is faster than a map, and nearly all
 * terms have one or two cells.
 */
const MAX_SEARCHED = 8

export interface PendingCells {
  readonly cells: TermCell[]
  byPlace: Map<number, TermCell> | undefined
}

/**
 * The pending contributions to a term. Most terms get only one contribution between two commits, which needs no cells.
 */
export type PendingTerm = Contribution | PendingCells

export type Pending = ReadonlyMap<string, PendingTerm>

/**
 * Collects the contributions since the last commit, combined by term and place, so that repeated terms of a burst are
 * sent once.
 */
export function pendingCells() {
  let pending = new Map<string, PendingTerm>()

  function add(term: string, contribution: Contribution): void {
    const known = pending.get(term)
    if (known === undefined) pending.set(term, contribution)
    else if ('tweet' in known) pending.set(term, together(known, contribution))
    else addTo(known, contribution)
  }

  function together(first: Contribution, second: Contribution): PendingCells {
    const term: PendingCells = { cells: [newCell(first)], byPlace: undefined }
    addTo(term, second)
    return term
  }

  function addTo(term: PendingCells, contribution: Contribution): void {
    const cell = cellOf(term, contribution.place)
    if (cell !== undefined) {
      addTweet(cell, contribution)
      return
    }
    const added = newCell(contribution)
    term.cells.push(added)
    if (term.byPlace !== undefined) term.byPlace.set(contribution.place, added)
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
