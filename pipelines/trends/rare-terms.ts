import type { RareTerm, TermCell, TermState } from '../../schemas/trends/types.ts'
import { addCell, regionsOf } from './cells.ts'
import { applyCounts, DAY_HOURS, NOBODY, newTermState } from './term-state.ts'
import { hourOfMinute, MINUTES_PER_HOUR } from './time.ts'

/**
 * A term with more contributions is frequent. Most terms occur once and never again. A row of eight contributions has
 * about 300 bytes, so that rewriting it costs little more than writing a new one.
 */
const MAX_CONTRIBUTIONS = 32

/** Adds cells to a rare term, whose regions have no state of their own: they are computed when somebody asks. */
export function addCells(known: readonly TermCell[], added: readonly TermCell[]): TermCell[] {
  const cells = [...known]
  for (const cell of added) {
    const same = cells.find((each) => each.place === cell.place)
    if (same === undefined) cells.push(cell)
    else addCell(same, cell)
  }
  return cells
}

/**
 * Returns false if the contributions are too many, or spread over more than a day. A rare term keeps all its
 * contributions, and those that are older than a day count no more.
 */
export function isRare(known: readonly TermCell[], added: readonly TermCell[]): boolean {
  let contributions = 0
  let oldest = Infinity
  let newest = 0
  for (const cells of [known, added]) {
    for (const { minutes, counts } of cells) {
      for (let i = 0; i < minutes.length; i++) {
        contributions += counts[i]
        if (minutes[i] < oldest) oldest = minutes[i]
        if (minutes[i] > newest) newest = minutes[i]
      }
    }
  }
  return contributions <= MAX_CONTRIBUTIONS && newest - oldest <= DAY_HOURS * MINUTES_PER_HOUR
}

/** Returns the state of a rare term in a region; undefined if it has no contribution there. */
export function stateIn({ cells }: RareTerm, woeid: number): TermState | undefined {
  let state: TermState | undefined
  for (const cell of cells) {
    if (!regionsOf(cell).includes(woeid)) continue
    state ??= newTermState()
    applyCounts(state, cell, NOBODY)
  }
  return state
}

/** Returns all regions with contributions to the term. */
export function regionsOfCells(cells: readonly TermCell[]): readonly number[] {
  if (cells.length === 1) return regionsOf(cells[0])
  return [...new Set(cells.flatMap(regionsOf))]
}

export function newestHour(cells: readonly TermCell[]): number {
  let newest = 0
  for (const { minutes } of cells) for (const minute of minutes) if (minute > newest) newest = minute
  return hourOfMinute(newest)
}
