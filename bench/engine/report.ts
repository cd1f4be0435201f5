import { median, row } from '../harness/table.ts'

/** A column of the table. It shows one figure of each run. */
export interface Column<Figures> {
  readonly title: string
  readonly digits: number
  readonly of: (run: Figures) => number
}

/** The results of all runs of one contender. */
export interface Runs<Figures> {
  readonly label: string
  readonly runs: Figures[]
}

export function header<Figures>(columns: readonly Column<Figures>[]): string {
  return `${row(['run', ...columns.map(({ title }) => title)])}\n${row(['---', ...columns.map(() => '--:')])}`
}

export function cells<Figures>(label: string, columns: readonly Column<Figures>[], figure: (column: Column<Figures>) => number): string {
  return row([label, ...columns.map((column) => figure(column).toFixed(column.digits))])
}

/** Formats the medians of every contender, and the ratio of the first contender to each other contender. */
export function summary<Figures>(contenders: readonly Runs<Figures>[], columns: readonly Column<Figures>[]): string {
  const medians = contenders.map(
    ({ runs }) =>
      (column: Column<Figures>) =>
        median(runs.map(column.of)),
  )
  const lines = contenders.map(({ label, runs }, i) => cells(`${label}, median of ${runs.length}`, columns, medians[i]))
  const ratios = contenders.slice(1).map(({ label }, i) => ratioRow(label, columns, medians[0], medians[i + 1]))
  return [...lines, ...ratios].join('\n')
}

function ratioRow<Figures>(
  label: string,
  columns: readonly Column<Figures>[],
  mine: (column: Column<Figures>) => number,
  theirs: (column: Column<Figures>) => number,
): string {
  const ratios = columns.map((column) => (theirs(column) === 0 ? '–' : `${(mine(column) / theirs(column)).toFixed(2)} x`))
  return row([`engine / ${label}`, ...ratios])
}
