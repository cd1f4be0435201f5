/**
 * Selects the best terms from any number of distinct terms. Terms are ranked by value and then by the order of their
 * UTF-8 bytes, as everywhere in trends.
 */
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
    entries.sort((a, b) => b.value - a.value || compareAsUtf8(a.term, b.term))
    if (entries.length > count) rest = Math.max(rest, entries[count].value)
    entries = entries.slice(0, count)
  }

  function best(): { terms: string[]; rest: number } {
    cut()
    return { terms: entries.map((each) => each.term), rest }
  }

  return { add, best }
}

const FIRST_SURROGATE = 0xd800
const AFTER_SURROGATES = 0xe000

/** Compares texts in the order of their UTF-8 bytes, without encoding them. */
function compareAsUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i)
    const unitB = b.charCodeAt(i)
    if (unitA !== unitB) return rankOf(unitA) - rankOf(unitB)
  }
  return a.length - b.length
}

/**
 * Returns a number that ranks a UTF-16 code unit as UTF-8 does. Surrogates encode the characters above U+FFFF, so they
 * rank after all other code units.
 */
function rankOf(unit: number): number {
  return unit >= FIRST_SURROGATE && unit < AFTER_SURROGATES ? unit + AFTER_SURROGATES : unit
}
