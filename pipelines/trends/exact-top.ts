import type { Best } from './contenders.ts'

/** Selects the best terms by value, then by term, from any number of distinct terms. */
export interface ExactTop {
  tell(term: string, value: number): void
  best(): Best
}

export function exactTop(count: number): ExactTop {
  let told: { readonly term: string; readonly value: number }[] = []
  let rest = 0

  function tell(term: string, value: number): void {
    if (value === 0) return
    told.push({ term, value })
    if (told.length === 2 * count) cut()
  }

  function cut(): void {
    told.sort((a, b) => b.value - a.value || (a.term < b.term ? -1 : 1))
    if (told.length > count) rest = Math.max(rest, told[count].value)
    told = told.slice(0, count)
  }

  function best(): Best {
    cut()
    return { terms: told.map((each) => each.term), rest }
  }

  return { tell, best }
}
