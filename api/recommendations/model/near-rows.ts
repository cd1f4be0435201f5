import { leastOfGreatest } from './greatest-values.ts'

/** A row that a search has found, with the value by which it is ranked. */
export interface NearRow {
  readonly key: number
  readonly value: number
}

/**
 * Returns the rows with the `count` highest values, best first. Rows with equal values are in the order of their keys.
 * @param keyOf returns the key of the row at a position of `values`
 */
export function nearRows(values: Float64Array, count: number, keyOf: (at: number) => number): NearRow[] {
  const least = leastOfGreatest(values, count)
  const found: NearRow[] = []
  // Thousands of rows may share the lowest value, for example if the query is zero. Only `count` of them are needed.
  let lowest = count
  for (let at = 0; at < values.length; at++) {
    const value = values[at]
    if (value > least || (value === least && lowest-- > 0)) found.push({ key: keyOf(at), value })
  }
  found.sort((one, other) => other.value - one.value || one.key - other.key)
  if (found.length > count) found.length = count
  return found
}
