import { isWithin } from '../../kit/age.ts'
import { type ItemTable, NEW_ITEM_INTERACTIONS } from './item-table.ts'
import { MAX_TRAITS, NO_TRAIT, type Trait } from './traits.ts'

/**
 * Lists of items. Making them requires a pass over all items. A request for a list rebuilds all lists in three cases:
 * - The lists are too old, by default older than a minute.
 * - The number of items has grown by more than a tenth.
 * - The list of the requested trait is missing. If there are many items, this case causes a pass at the earliest 15
 *   seconds after the previous pass.
 */
export interface Leaders {
  /** Rows of the most popular active items of a genre, best first. */
  ofGenre(genre: number): readonly number[]
  /** Announces traits whose lists are about to be requested, so that a single pass makes all of these lists. */
  announce(traits: readonly Trait[]): void
  /**
   * Rows of the most popular active items with a trait, best first. There are too many traits to keep a list for each
   * of them. The list of a trait is therefore empty until the first pass after the first request for this trait.
   */
  ofTrait(trait: Trait): readonly number[]
  /** Rows of the most popular active items. */
  overall(): readonly number[]
  /**
   * Rows of new items that should be tried, sorted by the upper confidence bound of their click rate, best first. Items
   * that nobody has seen yet all have the same bound. Among equal bounds, the newest item comes first.
   */
  explored(): readonly { readonly row: number; readonly bound: number }[]
}

const KEPT_MS = 60_000
/**
 * Minimum time between a pass and an extra pass for a newly requested trait. It limits the load, because a pass over a
 * million items takes half a second.
 */
const NEW_TRAIT_MS = 15_000
/** Maximum number of traits that have a list. Only the most recently requested traits have one. */
const MAX_LISTED_TRAITS = 1_000
const PER_TRAIT = 100
const PER_GENRE = 100
const OVERALL = 200
const EXPLORED = 200
/** Weight of the uncertainty in the upper confidence bound, a tenth of its weight in UCB1. */
const CONFIDENCE = Math.SQRT2 / 10
const PRIOR_SHOWN = 10
const PRIOR_CHOSEN = 0.5

/** Number of items visited between two pauses. Visiting them takes a millisecond or two. */
const ROWS_AT_ONCE = 8_192

export interface LeadersOptions {
  readonly items: ItemTable
  /** Epoch ms. */
  now(): number
  /**
   * Pauses the pass over all items, so that the process can answer requests. A pass over a million items takes half a
   * second, and the previous lists are used until it ends. The first pass and passes over few items do not pause. If
   * undefined, no pass pauses.
   */
  otherWork?(): Promise<unknown>
  /** How long the lists are used before they are rebuilt, ms. */
  keptMs?(): number
}

export function leaders({ items, now, otherWork, keptMs = () => KEPT_MS }: LeadersOptions): Leaders {
  let madeAt = Number.NEGATIVE_INFINITY
  let madeOf = 0
  let isMaking = false
  let made: MadeLeaders = { byGenre: new Map(), byTrait: new Map(), overall: [], explored: [] }
  /** The traits for which the next pass makes a list, with the most recently requested trait at the end. */
  const wanted = new Set<Trait>()

  function want(trait: Trait): void {
    wanted.delete(trait)
    wanted.add(trait)
    const [oldest] = wanted
    if (wanted.size > MAX_LISTED_TRAITS) wanted.delete(oldest)
  }

  function fresh(trait?: Trait): void {
    const time = now()
    // The lists are also rebuilt when the number of items has grown by more than a tenth, because a process that has
    // just started is still reading items.
    const hasGrown = items.size > 1.1 * madeOf
    const isMissing = trait !== undefined && !made.byTrait.has(trait) && (madeOf <= ROWS_AT_ONCE || !isWithin(madeAt, NEW_TRAIT_MS, time))
    if (isMaking || (isWithin(madeAt, keptMs(), time) && !hasGrown && !isMissing)) return
    const isFirst = madeOf === 0
    madeAt = time
    madeOf = items.size
    if (isFirst || otherWork === undefined || madeOf <= ROWS_AT_ONCE) made = make(time)
    else void makeInPieces(time, otherWork)
  }

  function make(time: number): MadeLeaders {
    const visit = visitor(items, time, wanted)
    for (let row = 0; row < madeOf; row++) visit.count(row)
    for (let row = 0; row < madeOf; row++) visit.offer(row)
    return visit.take()
  }

  async function makeInPieces(time: number, pause: () => Promise<unknown>): Promise<void> {
    isMaking = true
    const visit = visitor(items, time, wanted)
    for (const each of [visit.count, visit.offer]) {
      for (let start = 0; start < madeOf; start += ROWS_AT_ONCE) {
        for (let row = start; row < Math.min(madeOf, start + ROWS_AT_ONCE); row++) each(row)
        await pause()
      }
    }
    made = visit.take()
    isMaking = false
  }

  return {
    announce: (traits) => traits.forEach(want),
    ofGenre(genre) {
      fresh()
      return made.byGenre.get(genre) ?? []
    },
    ofTrait(trait) {
      want(trait)
      fresh(trait)
      return made.byTrait.get(trait) ?? []
    },
    overall() {
      fresh()
      return made.overall
    },
    explored() {
      fresh()
      return made.explored
    },
  }
}

interface MadeLeaders {
  readonly byGenre: ReadonlyMap<number, readonly number[]>
  readonly byTrait: ReadonlyMap<Trait, readonly number[]>
  readonly overall: readonly number[]
  readonly explored: readonly { readonly row: number; readonly bound: number }[]
}

/**
 * Collects the lists of one pass. The pass visits all items twice: first to add up how often items were shown, and then
 * to offer each item to the lists.
 */
function visitor(items: ItemTable, time: number, wanted: ReadonlySet<Trait>) {
  const groups = new Map<number, BestRows>()
  const traits = new Map(Array.from(wanted, (trait) => [trait, bestRows(PER_TRAIT)]))
  const overall = bestRows(OVERALL)
  const unknown = bestRows(EXPLORED)
  let shown = 1
  let logShown: number | undefined
  return {
    count(row: number): void {
      shown += items.shownAt(row, time)
    },
    offer(row: number): void {
      if (!items.isActive(row)) return
      logShown ??= Math.log(shown)
      const { popularity, interactions } = items.rankedAt(row, time)
      overall.offer(row, popularity)
      const genre = items.genreAt(row)
      let group = groups.get(genre)
      if (group === undefined) {
        group = bestRows(PER_GENRE)
        groups.set(genre, group)
      }
      group.offer(row, popularity)
      for (let place = 0; traits.size > 0 && place < MAX_TRAITS; place++) {
        const trait = items.traitAt(row, place)
        if (trait === NO_TRAIT) break
        traits.get(trait)?.offer(row, popularity)
      }
      if (interactions < NEW_ITEM_INTERACTIONS) {
        unknown.offer(row, boundOf(items.shownAt(row, time), items.chosenAt(row, time), logShown), items.createdAt(row))
      }
    },
    take: (): MadeLeaders => ({
      byGenre: rowsOf(groups),
      byTrait: rowsOf(traits),
      overall: overall.take().map(({ row }) => row),
      explored: unknown.take().map(({ row, value }) => ({ row, bound: value })),
    }),
  }
}

/**
 * Returns an optimistic estimate of an item's click rate: the upper confidence bound of UCB1, with less weight for the
 * uncertainty and with prior values for impressions and clicks.
 */
function boundOf(shown: number, chosen: number, logShown: number): number {
  const times = shown + PRIOR_SHOWN
  return (chosen + PRIOR_CHOSEN) / times + CONFIDENCE * Math.sqrt(logShown / times)
}

function rowsOf(groups: ReadonlyMap<number, BestRows>): Map<number, readonly number[]> {
  return new Map([...groups].map(([group, best]) => [group, best.take().map(({ row }) => row)]))
}

interface BestRows {
  /** @param tie decides between equal values: the higher `tie` wins */
  offer(row: number, value: number, tie?: number): void
  take(): { row: number; value: number }[]
}

/**
 * Keeps the `count` rows with the highest values. Whenever twice as many rows have been collected, it sorts them and
 * drops the worse half.
 */
function bestRows(count: number): BestRows {
  let rows: { row: number; value: number; tie: number }[] = []
  let floor = { value: Number.NEGATIVE_INFINITY, tie: Number.NEGATIVE_INFINITY }

  function cut(): void {
    rows.sort((a, b) => b.value - a.value || b.tie - a.tie || a.row - b.row)
    if (rows.length > count) {
      rows.length = count
      floor = rows[count - 1]
    }
  }

  return {
    offer(row, value, tie = 0) {
      if (value < floor.value || (value === floor.value && tie <= floor.tie)) return
      rows.push({ row, value, tie })
      if (rows.length >= count * 2) cut()
    },
    take() {
      cut()
      const taken = rows
      rows = []
      return taken
    },
  }
}
