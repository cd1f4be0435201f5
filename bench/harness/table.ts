import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const RESULTS = fileURLToPath(new URL('../results.md', import.meta.url))

/** Formats a row of a Markdown table. */
export function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Returns a quantile of numbers in ascending order; NaN if there are none.
 * @param share for example, 0.99 returns the 99th percentile
 */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Appends the printed results of a benchmark to bench/results.md under a note. Does nothing without a note. */
export function appendResults(benchmark: string, note: string | undefined, lines: readonly string[]): void {
  if (note === undefined) return
  const date = new Date().toISOString().slice(0, 10)
  appendFileSync(RESULTS, `\n## ${benchmark}, ${date}: ${note}\n\n${lines.join('\n')}\n`)
}
