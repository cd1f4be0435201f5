import type { ListReader } from '../view.ts'
import { type Cell, cellOf, geohashOf, withNeighbours } from './candidates/cells.ts'
import { cellsWithin } from './candidates/distance.ts'
import { passes } from './candidates/filters.ts'
import { INDEX_PRECISION, type IndexMember, memberRange, parseMember } from './candidates/index-member.ts'
import type { Viewer } from './candidates/person.ts'
import { type Interest, inOrder, type Ranked, scoreOf } from './candidates/ranking.ts'
import { cellKey } from './index-cells.ts'

/** Bounds of one search: docs/services/matches.md#candidates */
const STACK_SIZE = 50
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
}

/**
 * Finds candidates around a viewer, best first. It searches the home cell and its neighbours at precision 6, 5 and 4,
 * and then the cells at precision 4 within the viewer's distance, nearest first, as long as fewer than 50 pass.
 */
export async function findCandidates(viewer: Viewer, deps: SearchDeps): Promise<Ranked[]> {
  const { reader, partitionOf, isExcluded, interestOf, onSearched, now } = deps
  /** The newest version of each user who was examined. */
  const known = new Map<string, IndexMember>()
  const visited = new Set<string>()
  let examined = 0

  async function examine(cells: readonly Cell[]): Promise<void> {
    const fresh = cells.filter((cell) => !visited.has(geohashOf(cell)))
    for (const cell of fresh) visited.add(geohashOf(cell))
    const most = Math.min(EXAMINED_PER_STEP, EXAMINED_IN_ALL - examined)
    const share = Math.ceil(most / Math.max(1, fresh.length))
    const found = await Promise.all(fresh.map((cell) => membersOf(cell, share)))
    let left = most
    for (const [index, cell] of fresh.entries()) {
      const members = found[index].slice(0, left).map(parseMember)
      left -= members.length
      members.forEach(keep)
      onSearched?.(cell, members)
    }
  }

  function keep(member: IndexMember): void {
    const before = known.get(member.userId)
    // Wider cells contain the narrower ones of earlier steps.
    if (before !== undefined && before.version >= member.version) return
    examined++
    known.set(member.userId, member)
  }

  function membersOf(cell: Cell, count: number): Promise<string[]> {
    const geohash4 = geohashOf(cell).slice(0, INDEX_PRECISION)
    const { min, max } = memberRange(cell)
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
    if (examined >= EXAMINED_IN_ALL || survivors().length >= STACK_SIZE) break
  }
  return survivors().sort(inOrder).slice(0, STACK_SIZE)
}

/** Yields the cells of each step of a search. */
function* steps({ place, maxDistanceKm }: Viewer): Generator<Cell[]> {
  for (const precision of [6, 5, 4] as const) yield withNeighbours(cellOf(place, precision))
  const rings = cellsWithin(place, maxDistanceKm, MAX_RING_CELLS)
  for (let from = 0; from < rings.length; from += RING_CELLS_AT_ONCE)
    yield rings.slice(from, from + RING_CELLS_AT_ONCE).map(({ cell }) => cell)
}
