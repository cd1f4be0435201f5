import type { ListReader } from '../view.ts'
import { type Cell, cellOf, geohashOf, withNeighbours } from './candidates/cells.ts'
import { cellsWithin } from './candidates/distance.ts'
import { passes } from './candidates/filters.ts'
import { INDEX_PRECISION, type IndexMember, memberPrefix, memberRange, parseMember } from './candidates/index-member.ts'
import type { Viewer } from './candidates/person.ts'
import { type Interest, inOrder, type Ranked, scoreOf } from './candidates/ranking.ts'
import { cellKey } from './index-cells.ts'

/** Bounds of one search: docs/services/matches.md#candidates */
export const STACK_SIZE = 50
const EXAMINED_PER_STEP = 2_000
const EXAMINED_IN_ALL = 5_000
const MAX_RING_CELLS = 200
const RING_CELLS_AT_ONCE = 16

export interface SearchDeps {
  readonly reader: ListReader
  /** Returns the partition of the index that contains a cell, given its geohash of 4 characters. */
  partitionOf(geohash4: string): number
  /** Users whom the viewer has swiped or may not see. */
  isExcluded(userId: string): boolean
  interestOf(userId: string): Interest
  /** Receives the members of a cell when they have been read, cells in the order of the search. */
  onSearched?(cell: Cell, members: readonly IndexMember[]): void
  /** Epoch ms. */
  readonly now: number
  /** Lifts the bounds, for tests against an exhaustive search. */
  readonly bounds?: { readonly perStep: number; readonly inAll: number }
}

/** By geohash of a cell: the last user of the cell who was examined. Cells that are read to their end are missing. */
export type SearchPlace = Readonly<Record<string, string>>

export interface Found {
  /** Best first, at most 50. */
  readonly ranked: Ranked[]
  /** Where the search stopped at its bounds; undefined if it found enough, or read all cells to their end. */
  readonly stoppedAt: SearchPlace | undefined
}

/**
 * Finds candidates around a viewer. It searches the home cell and its neighbours at precision 6, 5 and 4, and then the
 * cells at precision 4 within the viewer's distance, nearest first, as long as fewer than 50 pass.
 * @param from where an earlier search stopped; its cells are read from there on
 */
export async function findCandidates(viewer: Viewer, deps: SearchDeps, from: SearchPlace = {}): Promise<Found> {
  const { reader, partitionOf, isExcluded, interestOf, onSearched, now, bounds } = deps
  const { perStep, inAll } = bounds ?? { perStep: EXAMINED_PER_STEP, inAll: EXAMINED_IN_ALL }
  /** The newest version of each user who was examined. */
  const known = new Map<string, IndexMember>()
  const visited = new Set<string>()
  const places = new Map(Object.entries(from))
  let examined = 0

  /** Reads cells in rounds, so that a full cell gets what the others leave. */
  async function examine(cells: readonly Cell[]): Promise<void> {
    let open = cells.filter((cell) => !visited.has(geohashOf(cell)))
    for (const cell of open) visited.add(geohashOf(cell))
    let room = Math.min(perStep, inAll - examined)
    while (open.length > 0 && room >= open.length) {
      const share = Math.floor(room / open.length)
      const found = await Promise.all(open.map((cell) => membersOf(cell, share)))
      room -= found.reduce((sum, members) => sum + members.length, 0)
      for (const [index, cell] of open.entries()) {
        const members = found[index].map(parseMember)
        members.forEach(add)
        onSearched?.(cell, members)
        const last = found[index].length < share ? undefined : found[index].at(-1)
        if (last === undefined) places.delete(geohashOf(cell))
        else places.set(geohashOf(cell), memberPrefix(last))
      }
      open = open.filter((_cell, index) => found[index].length === share)
    }
  }

  function add(member: IndexMember): void {
    const before = known.get(member.userId)
    // Wider cells contain the narrower ones of earlier steps.
    if (before !== undefined && before.version >= member.version) return
    examined++
    known.set(member.userId, member)
  }

  function membersOf(cell: Cell, count: number): Promise<string[]> {
    const geohash4 = geohashOf(cell).slice(0, INDEX_PRECISION)
    const { min, max } = memberRange(cell, places.get(geohashOf(cell)))
    return reader.zrangebylex(cellKey(partitionOf(geohash4), geohash4), min, max, 0, count)
  }

  function survivors(): Ranked[] {
    return [...known.values()]
      .filter((member) => passes(viewer, member, now) && !isExcluded(member.userId))
      .map((candidate) => {
        const interest = interestOf(candidate.userId)
        return { candidate, interest, score: scoreOf(viewer, candidate, interest, now) }
      })
  }

  for (const cells of steps(viewer)) {
    await examine(cells)
    if (examined >= inAll || survivors().length >= STACK_SIZE) break
  }
  const passing = survivors().sort(inOrder)
  const isShort = passing.length < STACK_SIZE
  return { ranked: passing.slice(0, STACK_SIZE), stoppedAt: isShort && places.size > 0 ? Object.fromEntries(places) : undefined }
}

/** Yields the cells of each step of a search. */
function* steps({ place, maxDistanceKm }: Viewer): Generator<Cell[]> {
  for (const precision of [6, 5, 4] as const) yield withNeighbours(cellOf(place, precision))
  const rings = cellsWithin(place, maxDistanceKm, MAX_RING_CELLS)
  for (let from = 0; from < rings.length; from += RING_CELLS_AT_ONCE)
    yield rings.slice(from, from + RING_CELLS_AT_ONCE).map(({ cell }) => cell)
}
