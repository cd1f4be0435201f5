import { byteWriter } from '../../schemas/codec.ts'
import { type ByteSpan, keyHash, PackedRows } from '../engine/index.ts'
import { addTweet, type ByteContribution, newCell, type TermCell } from './cells.ts'
import { packCell, packContribution, unpackCells } from './packed-cells.ts'

/**
 * Maximum number of cells that are searched one by one. Up to this number a search is faster than a map, and nearly all
 * terms have one or two cells.
 */
const MAX_SEARCHED = 8

/** The cells of a term with several contributions. */
interface TogetherCells {
  readonly cells: TermCell[]
  byPlace: Map<number, TermCell> | undefined
}

/** Receives the packed cells of a term. Both spans are valid only during the call. */
export type TakeCells = (key: Readonly<ByteSpan>, cells: Readonly<ByteSpan>) => void

/**
 * Contributions since the last commit, combined by term and place, so that a term that is repeated in a burst is sent
 * only once. Most terms get only one contribution between two commits. Such a contribution is packed at once and not
 * touched again before it is sent.
 */
export function pendingCells() {
  const rows = new PackedRows()
  let together = new Map<number, TogetherCells>()
  const packed = byteWriter()

  /** Adds a contribution to a term, which is given in UTF-8. The caller may reuse both objects after the call. */
  function add({ buffer, start, end }: Readonly<ByteSpan>, contribution: ByteContribution): void {
    const hash = keyHash(buffer, start, end)
    const row = rows.find(buffer, start, end, hash)
    if (row >= 0) {
      addTo(togetherOf(row), contribution)
      return
    }
    packed.length = 0
    packContribution(contribution, packed)
    rows.setValue(rows.add(buffer, start, end, hash), packed.buffer, 0, packed.length)
  }

  function togetherOf(row: number): TogetherCells {
    let known = together.get(row)
    if (known === undefined) {
      known = { cells: unpackCells(rows.buffer, rows.valueStart(row), rows.valueEnd(row)), byPlace: undefined }
      together.set(row, known)
    }
    return known
  }

  function addTo(term: TogetherCells, { place, original, minute, tweet, repeats }: ByteContribution): void {
    const spelling = original.buffer.toString('utf8', original.start, original.end)
    const contribution = { place, original: spelling, minute, tweet, repeats }
    const cell = cellOf(term, place)
    if (cell !== undefined) {
      addTweet(cell, contribution)
      return
    }
    const added = newCell(contribution)
    term.cells.push(added)
    if (term.byPlace !== undefined) term.byPlace.set(place, added)
    else if (term.cells.length > MAX_SEARCHED) term.byPlace = new Map(term.cells.map((each) => [each.place, each]))
  }

  function cellOf({ cells, byPlace }: TogetherCells, place: number): TermCell | undefined {
    return byPlace === undefined ? cells.find((each) => each.place === place) : byPlace.get(place)
  }

  /**
   * Passes all contributions on and clears them.
   * @param fullBytes a term with more bytes of cells is passed on in several parts
   */
  function drain(fullBytes: number, take: TakeCells): void {
    const { buffer } = rows
    const key = { buffer, start: 0, end: 0 }
    const cells = { buffer, start: 0, end: 0 }
    for (let row = 0; row < rows.count; row++) {
      key.start = rows.keyStart(row)
      key.end = rows.keyEnd(row)
      const several = together.get(row)
      if (several === undefined) {
        cells.start = rows.valueStart(row)
        cells.end = rows.valueEnd(row)
        take(key, cells)
      } else drainSeveral(key, several.cells, fullBytes, take)
    }
    rows.clear()
    together = new Map()
  }

  function drainSeveral(key: ByteSpan, cells: readonly TermCell[], fullBytes: number, take: TakeCells): void {
    packed.length = 0
    for (const cell of cells) {
      if (packed.length > fullBytes) {
        take(key, { buffer: packed.buffer, start: 0, end: packed.length })
        packed.length = 0
      }
      packCell(cell, packed)
    }
    take(key, { buffer: packed.buffer, start: 0, end: packed.length })
  }

  return { add, drain }
}
