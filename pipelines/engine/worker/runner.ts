import type { StateQueries } from '../queries/queries.ts'
import type { TopologyDescription } from '../topology/describe.ts'

/** One figure at the moment of asking. */
export interface Sample {
  /** Prometheus name, without the prefix `millrace_`; counters end with `_total`. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What a host runs: a worker of a topology, or a sink. */
export interface Runner {
  readonly name: string
  readonly kind: 'topology' | 'sink'
  /** Resolves when it works. Rejects when it cannot. */
  start(): Promise<void>
  /** Resolves after an orderly stop, rejects when it failed: the host then stops the whole process. */
  readonly done: Promise<void>
  stop(): Promise<void>
  /** Undefined when ready, else what is missing, for people. */
  notReady(): string | undefined
  describe(): TopologyDescription | undefined
  /** For /tasks: positions, lag, sizes, as plain JSON. */
  report(): object
  samples(): Iterable<Sample>
  /** State that can be asked for; undefined for runners without any, and while it is not open. */
  readonly queries?: StateQueries | undefined
}
