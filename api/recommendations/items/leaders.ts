import { type ItemTable, NEW_ITEM_INTERACTIONS } from './item-table.ts'

/** Lists that require visiting all items. They are made again at most once a minute, on request. */
export interface Leaders {
  /** Rows of the most popular active items of a genre, best first. */
  ofGenre(genre: number): readonly number[]
  /** Rows of the most popular active items. */
  overall(): readonly number[]
  /** Rows of new items that deserve to be tried, by the upper confidence bound of their clicks. */
  explored(): readonly { readonly row: number; readonly bound: number }[]
}

const KEPT_MS = 60_000
const PER_GENRE = 100
const OVERALL = 200
const EXPLORED = 200
/** Weight of what is not known yet in the upper confidence bound, as in UCB1. */
const CONFIDENCE = Math.SQRT2 / 10
const PRIOR_SHOWN = 10
const PRIOR_CHOSEN = 0.5

export function leaders(items: ItemTable, now: () => number): Leaders {
  let madeAt = Number.NEGATIVE_INFINITY
  let madeOf = 0
  let byGenre = new Map<number, readonly number[]>()
  let all: readonly number[] = []
  let tried: readonly { row: number; bound: number }[] = []

  function fresh(): void {
    const time = now()
    // A process that has just started reads thousands of items.
    const hasGrown = items.size > 1.1 * madeOf
    if (time - madeAt < KEPT_MS && !hasGrown) return
    madeAt = time
    madeOf = items.size
    make(time)
  }

  function make(time: number): void {
    const groups = new Map<number, BestRows>()
    const overall = bestRows(OVERALL)
    const unknown = bestRows(EXPLORED)
    let shown = 1
    for (let row = 0; row < items.size; row++) shown += items.shownAt(row, time)
    const logShown = Math.log(shown)
    for (let row = 0; row < items.size; row++) {
      if (!items.isActive(row)) continue
      const { popularity, interactions } = items.rankedAt(row, time)
      overall.offer(row, popularity)
      const genre = items.genreAt(row)
      let group = groups.get(genre)
      if (group === undefined) {
        group = bestRows(PER_GENRE)
        groups.set(genre, group)
      }
      group.offer(row, popularity)
      if (interactions < NEW_ITEM_INTERACTIONS) unknown.offer(row, boundOf(items.shownAt(row, time), items.chosenAt(row, time), logShown))
    }
    byGenre = new Map([...groups].map(([genre, best]) => [genre, best.take().map(({ row }) => row)]))
    all = overall.take().map(({ row }) => row)
    tried = unknown.take().map(({ row, value }) => ({ row, bound: value }))
  }

  return {
    ofGenre(genre) {
      fresh()
      return byGenre.get(genre) ?? []
    },
    overall() {
      fresh()
      return all
    },
    explored() {
      fresh()
      return tried
    },
  }
}

/** The rate at which an item might be chosen, in favour of the item: UCB1 with prior times shown. */
function boundOf(shown: number, chosen: number, logShown: number): number {
  const times = shown + PRIOR_SHOWN
  return (chosen + PRIOR_CHOSEN) / times + CONFIDENCE * Math.sqrt(logShown / times)
}

interface BestRows {
  offer(row: number, value: number): void
  take(): { row: number; value: number }[]
}

/** Keeps the `count` rows with the greatest values. It collects up to twice as many, then sorts and drops the rest. */
function bestRows(count: number): BestRows {
  let rows: { row: number; value: number }[] = []
  let floor = Number.NEGATIVE_INFINITY

  function cut(): void {
    rows.sort((a, b) => b.value - a.value || a.row - b.row)
    if (rows.length > count) {
      rows.length = count
      floor = rows[count - 1].value
    }
  }

  return {
    offer(row, value) {
      if (value <= floor) return
      rows.push({ row, value })
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
