/** Tracks the terms that may rank among the best in one region, without remembering all of its terms. */
export interface Contenders {
  /**
   * Records the greatest value that a term can have until it is offered again; 0 if it has no value. Offer every term
   * whenever its value may have grown.
   */
  offer(term: string, bound: number): void
  /** Records a term that is not remembered yet, like `offer` but with fewer look-ups. */
  offerNew(term: string, bound: number): void
  /**
   * Returns the best `count` terms, sorted by value and then by term, without terms of value 0.
   *   @param evaluate called for terms whose bounds are not enough to rank them
   *   @returns undefined if forgotten terms might be among the best; then call `restart` and offer every term again
   */
  best(count: number, evaluate: (terms: readonly string[]) => readonly Evaluation[]): Best | undefined
  /** Forgets all terms. */
  restart(): void
  /** Loads terms by name. Their bounds are not known until the next call of `best`. */
  load(terms: Iterable<string>, floor: Floor | undefined): void
  readonly size: number
  readonly floor: Floor | undefined
  names(): string[]
}

/** A lower limit of value. All terms above it are remembered. */
export interface Floor {
  readonly term: string
  readonly value: number
}

/** Learns what must be saved. */
export interface ContendersListener {
  added(term: string): void
  floorMoved(floor: Floor): void
}

export interface Evaluation {
  /** The exact current value. */
  readonly value: number
  /** The greatest value that the term can have until it is offered again; at least `value`. */
  readonly bound: number
}

export interface Best {
  readonly terms: readonly string[]
  /** Upper bound for the value of any omitted term. */
  readonly rest: number
}

interface Member {
  readonly term: string
  bound: number
  /** The value of the term if it is known, otherwise the bound. */
  value: number
  exact: boolean
  /** True once the term is no longer remembered. */
  forgotten: boolean
}

/**
 * Factor by which the number of remembered terms may exceed `keep` before they are trimmed to `keep`. It makes trimming
 * rare.
 */
const TRIM_FACTOR = 2

/**
 * Remembers at most 2 × `keep` terms. Values fall as the window advances, and grow only by contributions, which are
 * offered. A term that was below the floor when it was last offered is therefore still below it, and the best terms
 * above the floor are exact.
 *   @param keep must be greater than the number that `best` requests. The surplus terms may fall below the floor before
 *   all terms must be offered again
 */
export function contenders(keep: number, listener?: ContendersListener): Contenders {
  const members = new Map<string, Member>()
  /**
   * All remembered terms and some forgotten ones, in the order of the last ranking, followed by the terms that were
   * added since. An array that is almost in order is sorted much faster.
   */
  let order: Member[] = []
  /** The floor above which all terms are remembered. Without a floor, all terms are remembered. */
  let floor: Floor | undefined
  /** Number of loaded terms whose bounds are not known. */
  let unknown = 0

  function offer(term: string, bound: number): void {
    const member = members.get(term)
    if (member !== undefined) {
      if (member.bound === Infinity) unknown--
      member.bound = bound
      if (bound === 0) forget(member)
      return
    }
    offerNew(term, bound)
  }

  function offerNew(term: string, bound: number): void {
    if (bound === 0 || (floor !== undefined && comesBefore(floor, term, bound))) return
    add(term, bound)
    listener?.added(term)
    trimIfFull()
  }

  function add(term: string, bound: number): void {
    const member = { term, bound, value: bound, exact: false, forgotten: false }
    members.set(term, member)
    order.push(member)
  }

  function forget(member: Member): void {
    member.forgotten = true
    members.delete(member.term)
  }

  /** Sorts the members by their bounds. */
  function sortByBound(): void {
    order = order.filter((member) => !member.forgotten)
    for (const member of order) {
      member.value = member.bound
      member.exact = false
    }
    order.sort(byRank)
  }

  /** While the bound of a term is unknown, the term cannot be compared with others, so nothing is trimmed. */
  function trimIfFull(): void {
    if (members.size > keep * TRIM_FACTOR && unknown === 0) trim()
  }

  function trim(): void {
    sortByBound()
    for (const member of order.splice(keep)) forget(member)
    const last = { term: order[keep - 1].term, value: order[keep - 1].bound }
    // The floor never falls, because a term that was forgotten under a higher floor may still have a value just below
    // that floor.
    if (floor === undefined || comesBefore(last, floor.term, floor.value)) {
      floor = last
      listener?.floorMoved(last)
    }
  }

  function best(count: number, evaluate: (terms: readonly string[]) => readonly Evaluation[]): Best | undefined {
    sortByBound()
    for (;;) {
      const open = order.slice(0, count).filter((member) => !member.exact)
      if (open.length === 0) break
      const evaluations = evaluate(open.map((member) => member.term))
      open.forEach((member, i) => {
        member.bound = evaluations[i].bound
        member.value = evaluations[i].value
        member.exact = true
        if (member.bound === 0) forget(member)
      })
      order = order.filter((member) => !member.forgotten).sort(byRank)
    }
    const best = bestOf(order, count)
    // Terms without a bound come first, so all of them were evaluated.
    if (unknown > 0) {
      unknown = 0
      trimIfFull()
    }
    return best
  }

  /** @param sorted members of value 0 come last */
  function bestOf(sorted: readonly Member[], count: number): Best | undefined {
    const chosen = sorted.slice(0, count).filter((member) => member.value > 0)
    const last = chosen.at(-1)
    if (floor !== undefined && (chosen.length < count || last === undefined || comesBefore(floor, last.term, last.value))) return undefined
    return { terms: chosen.map((member) => member.term), rest: Math.max(sorted[count]?.value ?? 0, floor?.value ?? 0) }
  }

  function restart(): void {
    members.clear()
    order = []
    floor = undefined
    unknown = 0
  }

  function load(terms: Iterable<string>, loaded: Floor | undefined): void {
    floor = loaded
    for (const term of terms) add(term, Infinity)
    unknown = members.size
  }

  return {
    offer,
    offerNew,
    best,
    restart,
    load,
    get size() {
      return members.size
    },
    get floor() {
      return floor
    },
    names: () => [...members.keys()],
  }
}

function byRank(a: Member, b: Member): number {
  return b.value - a.value || (a.term < b.term ? -1 : 1)
}

function comesBefore(a: { term: string; value: number }, term: string, value: number): boolean {
  return a.value > value || (a.value === value && a.term < term)
}
