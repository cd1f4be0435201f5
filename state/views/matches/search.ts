import { areCaughtUp, type ListReader, NOT_CAUGHT_UP, type ViewReader } from '../view.ts'
import { type Cell, cellOf, geohashOf, withNeighbours } from './candidates/cells.ts'
import { cellsWithin } from './candidates/distance.ts'
import { passes } from './candidates/filters.ts'
import { INDEX_PRECISION, type IndexMember, memberPrefix, memberRange, parseMember } from './candidates/index-member.ts'
import type { Viewer } from './candidates/person.ts'
import { inOrder, type Ranked, scoreOf } from './candidates/ranking.ts'
import { cellKey, MATCH_INDEX_VIEW } from './index-cells.ts'
import type { InterestReader } from './viewer.ts'

export const STACK_SIZE = 50

/** Limits on how much a search reads and returns. */
export interface SearchBounds {
  /** Maximum number of candidates. The search ends after the step in which it has found this number. */
  readonly stackSize: number
  /** Maximum number of index members that a step reads. */
  readonly examinedPerStep: number
  readonly examinedInAll: number
  /** Maximum number of cells beyond the neighbours. */
  readonly ringCells: number
}

/** The limits that docs/services/matches.md#candidates describes. */
const BOUNDS: SearchBounds = { stackSize: STACK_SIZE, examinedPerStep: 2_000, examinedInAll: 5_000, ringCells: 200 }
/** Number of cells beyond the neighbours that one step reads. */
const RING_CELLS_AT_ONCE = 16

export interface SearchDeps {
  readonly reader: Pick<ListReader, 'zrangebylex'> & Pick<ViewReader, 'get'>
  /** Returns the partition of the index that contains a cell, given its geohash of 4 characters. */
  partitionOf(geohash4: string): number
  readonly interestsOf: InterestReader
  /** Called after each read of a cell, with the members that were read. Cells arrive in the order of the search. */
  onSearched?(cell: Cell, members: readonly IndexMember[]): void
  /** Epoch ms. */
  readonly now: number
  /** Default: the documented limits. */
  readonly bounds?: SearchBounds
}

/**
 * Where a search stopped: for the geohash of each cell that was read, the prefix of the last member that was read, or
 * END. Cells that were read to their end are included, so that later searches skip them. If later searches read these
 * cells again, they could reach their limits before they come to new cells.
 */
export type SearchPlace = Readonly<Record<string, string>>

const END = 'end'

export interface Found {
  /** The candidates, best first, at most as many as the bounds allow. */
  readonly ranked: Ranked[]
  /**
   * Where the search stopped because it reached its limits; undefined if it found enough candidates, or read all cells
   * to their end.
   */
  readonly stoppedAt: SearchPlace | undefined
}

/**
 * Finds candidates around a viewer. The search covers the home cell and its neighbours at precision 6, then at 5 and at
 * 4, and then the cells of precision 4 within the viewer's distance, nearest first. It ends after the step in which
 * `bounds.stackSize` candidates (50 by default) pass the filters and are visible to the viewer, or in which
 * `bounds.examinedInAll` members have been examined. It also ends when no cells are left.
 * @param from where an earlier search stopped; the search continues reading cells from there
 * @returns NOT_CAUGHT_UP if the viewer's part of the view of users, or a part of the index that the search reads, is
 * being built. While the index is being built, it lacks users, so a search could wrongly return no candidates.
 */
export async function findCandidates(viewer: Viewer, deps: SearchDeps, from: SearchPlace = {}): Promise<Found | typeof NOT_CAUGHT_UP> {
  const { reader, partitionOf, interestsOf, onSearched, now, bounds = BOUNDS } = deps
  /** The newest version of each user that the search has examined. */
  const known = new Map<string, number>()
  const passing = new Map<string, Ranked>()
  const visited = new Set<string>()
  const places = new Map(Object.entries(from))
  let examined = 0
  let isOpen = false
  let isLost = false

  /**
   * Reads cells in rounds, so that a cell with many members can use the part of the limit that other cells leave
   * unused.
   */
  async function examine(cells: readonly Cell[]): Promise<void> {
    let open = cells.filter((cell) => !visited.has(geohashOf(cell)) && places.get(geohashOf(cell)) !== END)
    for (const cell of open) visited.add(geohashOf(cell))
    let room = Math.min(bounds.examinedPerStep, bounds.examinedInAll - examined)
    while (!isLost && open.length > 0 && room >= open.length) {
      const share = Math.floor(room / open.length)
      const [found, isComplete] = await Promise.all([Promise.all(open.map((cell) => membersOf(cell, share))), isCaughtUp(open)])
      if (!isComplete) {
        isLost = true
        return
      }
      room -= found.reduce((sum, members) => sum + members.length, 0)
      const newest = new Map<string, IndexMember>()
      for (const [index, cell] of open.entries()) {
        const members = found[index].map(parseMember)
        for (const member of members) if (isNews(member)) newest.set(member.userId, member)
        onSearched?.(cell, members)
        const last = found[index].length < share ? undefined : found[index].at(-1)
        places.set(geohashOf(cell), last === undefined ? END : memberPrefix(last))
      }
      await judge(newest)
      open = open.filter((_cell, index) => found[index].length === share)
    }
    isOpen ||= open.length > 0
  }

  /**
   * Counts a member as examined. Returns false, without counting it, if the search has examined this version of the
   * user or a newer one.
   */
  function isNews({ userId, version }: IndexMember): boolean {
    const before = known.get(userId)
    // A larger cell contains the members of smaller cells, which earlier steps have examined.
    if (before !== undefined && before >= version) return false
    examined++
    known.set(userId, version)
    return true
  }

  async function judge(newest: ReadonlyMap<string, IndexMember>): Promise<void> {
    const suitable = [...newest.values()].filter((member) => passes(viewer, member, now))
    const interests = await interestsOf(suitable.map(({ userId }) => userId))
    if (interests === NOT_CAUGHT_UP) {
      isLost = true
      return
    }
    for (const userId of newest.keys()) passing.delete(userId)
    for (const candidate of suitable) {
      const interest = interests.get(candidate.userId)
      if (interest === undefined) continue
      passing.set(candidate.userId, { candidate, interest, score: scoreOf(viewer, candidate, interest, now) })
    }
  }

  /** Returns whether the index contains all members of these cells. Must be called after the members were requested. */
  function isCaughtUp(cells: readonly Cell[]): Promise<boolean> {
    return areCaughtUp(reader, MATCH_INDEX_VIEW, new Set(cells.map((cell) => partitionOf(geohash4Of(cell)))))
  }

  function membersOf(cell: Cell, count: number): Promise<string[]> {
    const geohash4 = geohash4Of(cell)
    const { min, max } = memberRange(cell, places.get(geohashOf(cell)))
    return reader.zrangebylex(cellKey(partitionOf(geohash4), geohash4), min, max, 0, count)
  }

  for (const cells of steps(viewer, bounds.ringCells)) {
    await examine(cells)
    if (isLost) return NOT_CAUGHT_UP
    isOpen ||= examined >= bounds.examinedInAll
    if (examined >= bounds.examinedInAll || passing.size >= bounds.stackSize) break
  }
  const ranked = [...passing.values()].sort(inOrder).slice(0, bounds.stackSize)
  const isShort = passing.size < bounds.stackSize
  return { ranked, stoppedAt: isShort && isOpen ? Object.fromEntries(places) : undefined }
}

function geohash4Of(cell: Cell): string {
  return geohashOf(cell).slice(0, INDEX_PRECISION)
}

/** Yields the cells of each step of a search. */
function* steps({ place, maxDistanceKm }: Viewer, ringCells: number): Generator<Cell[]> {
  for (const precision of [6, 5, 4] as const) yield withNeighbours(cellOf(place, precision))
  const rings = cellsWithin(place, maxDistanceKm, ringCells)
  for (let from = 0; from < rings.length; from += RING_CELLS_AT_ONCE)
    yield rings.slice(from, from + RING_CELLS_AT_ONCE).map(({ cell }) => cell)
}
