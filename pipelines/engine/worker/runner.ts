import type { StateQueries } from '../queries/queries.ts'
import type { TopologyDescription } from '../topology/describe.ts'

/** The value of a metric at the time of the request. */
export interface Sample {
  /**
   * Prometheus name without the prefix `millrace_`. The metric is a counter if its name ends with `_total`; if not, it
   * is a gauge.
   */
  readonly name: string
  readonly help: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A unit that a host runs: a worker of a topology, a sink or a job. */
export interface Runner {
  readonly name: string
  readonly kind: 'topology' | 'sink'
  /**
   * Starts the unit. For a worker, resolves when it has joined its group, and rejects when it cannot start. Sinks and
   * jobs start in the background.
   */
  start(): Promise<void>
  /** Resolves after a clean stop. Rejects after a failure; the host then stops the whole process. */
  readonly done: Promise<void>
  stop(): Promise<void>
  /** Returns why the runner is not ready; undefined when it is ready. */
  notReady(): string | undefined
  describe(): TopologyDescription | undefined
  /** Returns facts about the runner, such as positions and lag, as plain JSON, for /tasks. */
  report(): object
  samples(): Iterable<Sample>
  /** Queries on the state; undefined for runners without state, and while the state is not open. */
  readonly queries?: StateQueries | undefined
}
