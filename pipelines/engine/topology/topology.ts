import type { TopologyBuilder } from './api.ts'
import { checkName, type Declaration, declare } from './declaration.ts'
import { describeTopology, type TopologyDescription } from './describe.ts'
import { type SubTopology, subTopologies } from './sub-topology.ts'

/**
 * What a topology requires of its worker.
 * - `commitIntervalMs`: longest time between a record and its commit; overrides the worker's value. 0 commits after
 *   every poll.
 * - `commitSoonMs`: longest time between a record and its commit if the processor has called `commitSoon`. Default: the
 *   same as `commitIntervalMs`.
 * - `commitWhenIdle`: true (default) commits at once when the input pauses. With false, short pauses do not cause a
 *   commit, so that aggregation before each commit remains effective.
 * - `collectMs`: how long records collect before the next fetch if the last fetch returned few records; see
 *   `FetcherOptions`. With `until-commit` they collect until shortly before the next commit can begin. Default 0 with
 *   `commitWhenIdle`, and otherwise a fifth of the commit interval, at most 50 ms.
 * - `maxIdleMs`: how long a task with several sources waits for a source without queued records while another source
 *   has some. With 0 (default), the task waits only for records that are known to be in the broker, so that a backlog
 *   is processed in chronological order. With a positive value, the task also waits up to this long for records that
 *   may still arrive. With -1, it never waits.
 * - `standby`: number of copies of each task's state on other workers, which take over at once when its worker fails.
 *   Default 0.
 * - `erasesIds`: true if the stores contain ids of users who may leave. The broker then compacts replaced and deleted
 *   rows in the changelogs within a week. Default false: it compacts when half of a changelog has been replaced.
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

/**
 * A named flow of sources, processors, stores and outputs. The topology itself has no state, because every task has a
 * separate instance of the flow.
 */
export interface Topology {
  readonly name: string
  readonly options: TopologyOptions
  readonly subTopologies: readonly SubTopology[]
  /** Runs the build function again. The resulting closures and stores belong only to the caller. */
  declare(): Declaration
  describe(): TopologyDescription
}

/**
 * Declares a topology. The build function runs at once, so that mistakes in it are found when the file is loaded. It
 * runs again for every task.
 * @param name the consumer group, and the prefix of every internal topic
 * @throws TopologyError for duplicate or missing names, unread repartition topics and sources that cannot be processed
 * together
 */
export function topology(name: string, build: (builder: TopologyBuilder) => void, options: TopologyOptions = {}): Topology {
  checkName('topology', name)
  const declaration = declare(name, build)
  const parts = subTopologies(declaration)
  return {
    name,
    options,
    subTopologies: parts,
    declare: () => declare(name, build),
    describe: () => describeTopology(declaration, parts),
  }
}
