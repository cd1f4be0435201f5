import { TopologyError } from './errors.ts'

/**
 * What a topology requires of its worker.
 * - `commitIntervalMs`: time between the starts of two commits; overrides the worker's value. The time becomes longer
 *   while brokers take long to commit. With 0, the worker commits as often as the brokers permit.
 * - `commitSoonMs`: replaces `commitIntervalMs` when a processor has called `commitSoon`. Default: the same as
 *   `commitIntervalMs`.
 * - `commitWhenIdle`: true (default) commits at once when the input pauses. With false, short pauses do not cause a
 *   commit, so that aggregation before each commit remains effective.
 * - `collectMs`: how long records collect before the next fetch if the last fetch returned few records; see
 *   `FetcherOptions`. With `until-commit` they collect until shortly before the next commit can begin. Default 0 with
 *   `commitWhenIdle`, and otherwise a fifth of the commit interval, at most 50 ms.
 * - `maxIdleMs`: how long a task with several sources waits for a source without queued records while another source
 *   has some. With 0 (default), the task waits only for records that are known to be on the broker, so that a backlog
 *   is processed in chronological order. With a positive value, the task also waits up to this long for records that
 *   may still arrive. With -1, it never waits.
 * - `standby`: number of copies of each task's state on other workers. When the task's worker fails, one of these
 *   workers takes over without restoring the whole state. Default 0.
 * - `erasesIds`: true if the stores contain user ids, which must be erased after a user has left. The broker then
 *   removes replaced and deleted rows from the changelogs within a week. Default false: the broker compacts a changelog
 *   when half of it has been replaced.
 */
export interface TopologyOptions {
  readonly commitIntervalMs?: number
  readonly commitSoonMs?: number
  readonly commitWhenIdle?: boolean
  readonly collectMs?: number | 'until-commit'
  readonly maxIdleMs?: number
  readonly standby?: 0 | 1 | 2
  readonly erasesIds?: boolean
}

type Check = readonly [isValid: (value: unknown) => boolean, expected: string]

const MS: Check = [(value) => isFiniteFrom(0, value), 'a number of milliseconds that is not negative']
const FLAG: Check = [(value) => typeof value === 'boolean', 'true or false']
const CHECKS: Readonly<Record<keyof TopologyOptions, Check>> = {
  commitIntervalMs: MS,
  commitSoonMs: MS,
  commitWhenIdle: FLAG,
  collectMs: [
    (value) => value === 'until-commit' || isFiniteFrom(0, value),
    "a number of milliseconds that is not negative, or 'until-commit'",
  ],
  maxIdleMs: [(value) => value === -1 || isFiniteFrom(0, value), 'a number of milliseconds that is not negative, or -1'],
  standby: [(value) => value === 0 || value === 1 || value === 2, '0, 1 or 2'],
  erasesIds: FLAG,
}

function isFiniteFrom(least: number, value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= least
}

/** Checks the options of a topology. @throws TopologyError for an unknown option or an impossible value */
export function checkOptions(topology: string, options: TopologyOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(CHECKS, name)) throw new TopologyError(`topology ${topology}: there is no option ${name}`)
    const [isValid, expected] = CHECKS[name as keyof TopologyOptions]
    if (value !== undefined && !isValid(value)) {
      throw new TopologyError(`topology ${topology}: the option ${name} is ${String(value)}, but must be ${expected}`)
    }
  }
}
