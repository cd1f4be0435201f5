import { SnapshotError } from '../../kit/snapshots/checked-file.ts'
import { NO_TRAIT, type Trait } from './traits.ts'

/** Short lists of traits, one after another in large arrays. A list takes four bytes more than its traits. */
export interface TraitLists {
  /**
   * Stores a list.
   * @param list the list to replace; NONE_LISTED if there is none
   * @returns the number of the list; NONE_LISTED for an empty list that replaces none
   */
  put(list: number, traits: readonly Trait[]): number
  /** Returns a trait of a list; NO_TRAIT after the last trait. */
  at(list: number, place: number): Trait
  /** All pages, for snapshots. */
  readonly pages: readonly Uint32Array<ArrayBuffer>[]
  /** The number of the next list. */
  readonly next: number
  /** Restores the pages of a snapshot one by one, and then the number of the next list. */
  restorePage(bytes: Buffer): void
  restoreNext(next: number): void
}

/** Number that stands for an empty list. */
export const NONE_LISTED = 0

/** Size of a page. A list is never divided between two pages. */
const PAGE_BITS = 16
const PAGE_WORDS = 2 ** PAGE_BITS
const PAGE_MASK = PAGE_WORDS - 1

/**
 * The number of a list is the position of its first word. This word contains the capacity of the list, and the traits
 * follow it. A list that outgrows its capacity is stored at a new position, and its old space is lost. Little space is
 * lost, because lists have a maximum length.
 */
export function traitLists(): TraitLists {
  const pages = [new Uint32Array(PAGE_WORDS)]
  let next = NONE_LISTED + 1
  let restored = 0

  function allot(space: number): number {
    if ((next & PAGE_MASK) + space >= PAGE_WORDS) next = pages.length * PAGE_WORDS
    if (next >>> PAGE_BITS === pages.length) pages.push(new Uint32Array(PAGE_WORDS))
    const list = next
    pages[list >>> PAGE_BITS][list & PAGE_MASK] = space
    next += 1 + space
    return list
  }

  return {
    put(list, traits) {
      if (list === NONE_LISTED && traits.length === 0) return NONE_LISTED
      const fits = list !== NONE_LISTED && traits.length <= pages[list >>> PAGE_BITS][list & PAGE_MASK]
      const kept = fits ? list : allot(traits.length)
      const page = pages[kept >>> PAGE_BITS]
      const start = kept & PAGE_MASK
      for (let place = 0; place < page[start]; place++) page[start + 1 + place] = traits[place] ?? NO_TRAIT
      return kept
    },
    at(list, place) {
      const page = pages[list >>> PAGE_BITS]
      const start = list & PAGE_MASK
      return place < page[start] ? page[start + 1 + place] : NO_TRAIT
    },
    pages,
    get next() {
      return next
    },
    restorePage(bytes) {
      const page = new Uint32Array(PAGE_WORDS)
      if (bytes.length !== page.byteLength) throw new SnapshotError('a page of traits has the wrong size')
      bytes.copy(new Uint8Array(page.buffer))
      pages[restored++] = page
    },
    restoreNext(first) {
      next = first
      while (next > pages.length * PAGE_WORDS) pages.push(new Uint32Array(PAGE_WORDS))
    },
  }
}
