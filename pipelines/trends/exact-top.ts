/** Selects the best terms from any number of distinct terms. Terms are ranked by value and then by text. */
export interface ExactTop {
  add(term: string, value: number): void
  /** @returns the terms, and an upper bound for the value of any omitted term */
  best(): { terms: string[]; rest: number }
}

export function exactTop(count: number): ExactTop {
  let entries: { readonly term: string; readonly value: number }[] = []
  let rest = 0

  function add(term: string, value: number): void {
    if (value === 0) return
    entries.push({ term, value })
    if (entries.length === 2 * count) cut()
  }

  function cut(): void {
    entries.sort((a, b) => b.value - a.value || (a.term < b.term ? -1 : 1))
    if (entries.length > count) rest = Math.max(rest, entries[count].value)
    entries = entries.slice(0, count)
  }

  function best(): { terms: string[]; rest: number } {
    cut()
    return { terms: entries.map((each) => each.term), rest }
  }

  return { add, best }
}
