/** The terms of one region that can be among its best, out of any number. */
export interface Contenders {
  /**
   * A term's greatest possible value from now on, unless it is offered again; 0: none.
   * Every term must be offered whenever its value may have grown.
   */
  offer(term: string, bound: number): void
  /**
   * The best `count` terms by value, then by term; terms of value 0 are left out.
   * @param evaluate asked for terms whose bounds leave it open
   * @returns undefined when terms that are not remembered might be among them: `restart`, then offer every term again
   */
  best(count: number, evaluate: (terms: readonly string[]) => readonly Evaluation[]): Best | undefined
  /** Forgets everything. */
  restart(): void
  readonly size: number
}

export interface Evaluation {
  /** Now, exactly. */
  readonly value: number
  /** What it can be from now on without being offered again; at least the value. */
  readonly bound: number
}

export interface Best {
  readonly terms: readonly string[]
  /** No term that was left out has a greater value. */
  readonly rest: number
}

interface Member {
  readonly term: string
  bound: number
  /** The value where it is known, else the bound. */
  value: number
  exact: boolean
}

/** How many times `keep` are remembered before they are trimmed, so that trimming is rare. */
const TRIM_FACTOR = 2

/**
 * Remembers at most 2 × `keep` terms. Values fall as the window moves on and grow only by contributions, which are offered; so a term
 * that was below the floor when it was last offered is below it still, and the best above the floor are exact.
 * @param keep more than are ever asked for: the margin is what may fall below the floor before everything must be offered again
 */
export function contenders(keep: number): Contenders {
  const members = new Map<string, Member>()
  /** Everything from here upwards is remembered; undefined: everything is. */
  let floor: { readonly term: string; readonly value: number } | undefined

  function offer(term: string, bound: number): void {
    const member = members.get(term)
    if (member !== undefined) {
      member.bound = bound
      if (bound === 0) members.delete(term)
      return
    }
    if (bound === 0 || (floor !== undefined && comesBefore(floor, term, bound))) return
    members.set(term, { term, bound, value: bound, exact: false })
    if (members.size > keep * TRIM_FACTOR) trim()
  }

  function trim(): void {
    for (const member of members.values()) member.value = member.bound
    const sorted = [...members.values()].sort(byRank)
    for (const member of sorted.slice(keep)) members.delete(member.term)
    const last = { term: sorted[keep - 1].term, value: sorted[keep - 1].bound }
    // It never falls: what was left out under a higher one may still be worth as much.
    if (floor === undefined || comesBefore(last, floor.term, floor.value)) floor = last
  }

  function best(count: number, evaluate: (terms: readonly string[]) => readonly Evaluation[]): Best | undefined {
    for (const member of members.values()) {
      member.value = member.bound
      member.exact = false
    }
    let sorted = [...members.values()].sort(byRank)
    for (;;) {
      const open = sorted.slice(0, count).filter((member) => !member.exact)
      if (open.length === 0) break
      const evaluations = evaluate(open.map((member) => member.term))
      open.forEach((member, i) => {
        member.bound = evaluations[i].bound
        member.value = evaluations[i].value
        member.exact = true
        if (member.bound === 0) members.delete(member.term)
      })
      sorted = sorted.filter((member) => member.value > 0).sort(byRank)
    }
    const chosen = sorted.slice(0, count)
    const last = chosen.at(-1)
    if (floor !== undefined && (chosen.length < count || last === undefined || comesBefore(floor, last.term, last.value))) return undefined
    return { terms: chosen.map((member) => member.term), rest: Math.max(sorted[count]?.value ?? 0, floor?.value ?? 0) }
  }

  function restart(): void {
    members.clear()
    floor = undefined
  }

  return {
    offer,
    best,
    restart,
    get size() {
      return members.size
    },
  }
}

function byRank(a: Member, b: Member): number {
  return b.value - a.value || (a.term < b.term ? -1 : 1)
}

function comesBefore(a: { term: string; value: number }, term: string, value: number): boolean {
  return a.value > value || (a.value === value && a.term < term)
}
