import type { LeadingTerms } from './leading-terms.ts'
import { CellCounts } from './packed-cells.ts'
import type { RegionContenders } from './region-contenders.ts'
import { type StoredTerms, TERMS_PER_PAUSE } from './stored-terms.ts'
import { TextBytes } from './term-table.ts'

/**
 * Maximum number of terms that a ranking visits, which takes 0.3 to 0.8 s of CPU time. With a ranking every 30 s, a
 * pass over two million terms takes four minutes. A region waits for at most two passes, because its request may arrive
 * in the middle of a pass. Without any further tweets, the rest of its surplus lasts for about ten minutes
 * (docs/adr/0088-contenders-are-refilled-in-time.md). If its contenders run out earlier, a ranking visits all terms.
 */
const TERMS_PER_RANKING = 262_144

export interface RefillsOptions {
  readonly leading: Pick<LeadingTerms, 'refill' | 'refillRare'>
  readonly terms: Pick<StoredTerms, 'rare' | 'frequent'>
  /** Called for each region whose contenders were replaced. */
  refilled(woeid: number): void
  /** Maximum number of terms visited per ranking. */
  readonly termsPerRanking?: number
}

/** The next term to visit. Frequent terms come before rare ones. */
interface Position {
  readonly kind: 'frequent' | 'rare'
  readonly from: string | undefined
}

const BEGINNING: Position = { kind: 'frequent', from: undefined }

/**
 * Collects new contenders for regions whose contenders are about to run out. This happens in all regions when fewer
 * tweets arrive than an hour earlier. Each ranking visits a part of the stored terms, and all regions share this pass.
 * A ranking would otherwise have to visit all terms at once, which takes so long that lists become stale.
 */
export function refills({ leading, terms, refilled, termsPerRanking = TERMS_PER_RANKING }: RefillsOptions) {
  const given = new TextBytes()
  /** The counts of the rare term that is being visited. */
  const counts = new CellCounts()
  /** The regions that are being refilled, with the number of the pass after which each has been offered all terms. */
  const pending = new Map<number, { readonly region: RegionContenders; readonly through: number }>()
  let passes = 0
  let next = BEGINNING

  /** Begins to refill a region. Has no effect on a region that is being refilled. */
  function begin(woeid: number, region: RegionContenders): void {
    if (region.isRefilled) return
    region.beginRefill()
    pending.set(woeid, { region, through: next === BEGINNING ? passes + 1 : passes + 2 })
  }

  /** Visits the next terms if a region is being refilled. Yields at intervals. */
  function* run(): Generator<void, void, void> {
    if (pending.size === 0) return
    let left = termsPerRanking
    if (next.kind === 'frequent') {
      const { from } = next
      next = { kind: 'rare', from: undefined }
      for (const [woeid, term, state, key] of terms.frequent(from)) {
        if (left-- === 0) {
          next = { kind: 'frequent', from: key }
          return
        }
        leading.refill(woeid, term, state, key)
        if (left % TERMS_PER_PAUSE === 0) yield
      }
    }
    for (const [term, row] of terms.rare(next.from)) {
      if (left-- === 0) {
        next = { kind: 'rare', from: term }
        return
      }
      leading.refillRare(given.of(term), counts.readRow(row.packed))
      if (left % TERMS_PER_PAUSE === 0) yield
    }
    passEnded()
  }

  function passEnded(): void {
    passes++
    next = BEGINNING
    for (const [woeid, { region, through }] of pending) {
      if (through > passes) continue
      pending.delete(woeid)
      // The region needs no refill if a ranking has visited all terms in the meantime.
      if (!region.isRefilled) continue
      region.endRefill()
      refilled(woeid)
    }
  }

  return { begin, run }
}
