import { missingPartitions, NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'
import { withDeadline } from './deadline.ts'
import { ApiError, type ApiErrorOptions, errors } from './errors.ts'

/** Checks one dependency of the API. */
export interface ReadinessProbe {
  readonly name: string
  /** Whether only some requests need the dependency. If true, the process stays ready without the dependency. */
  readonly optional?: boolean
  /**
   * Returns what is missing; undefined if the dependency is ready. Throwing also means that the dependency is missing.
   */
  check(): Promise<string | undefined>
}

export interface Missing {
  readonly name: string
  readonly reason: string
}

export interface ReadinessReport {
  /** Empty if the process is ready. */
  readonly missing: readonly Missing[]
  /** Optional dependencies that are missing. */
  readonly degraded: readonly Missing[]
}

export interface Readiness {
  /** Returns the state of all dependencies, at most `maxAgeMs` old. Concurrent callers share one check. */
  report(): Promise<ReadinessReport>
  /** Makes the process report that it is not ready. Called when the process shuts down. */
  startDraining(): void
  readonly draining: boolean
}

/**
 * Default time limit of a probe. If a probe hangs, its dependency counts as missing, so that the probe does not block
 * the health check.
 */
export const PROBE_TIMEOUT_MS = 2_000
/**
 * By default, a report is reused for this long, so that requests for the public health check cannot overload the
 * process.
 */
const MAX_AGE_MS = 1_000

export interface ReadinessOptions {
  /** Time limit of one probe. Default 2 s. */
  readonly timeoutMs?: number
  /** How long a report is reused. Default 1 s. */
  readonly maxAgeMs?: number
  /** Monotonic ms. Default: the process's clock. */
  monotonic?(): number
}

export function readiness(given: readonly ReadinessProbe[], options: ReadinessOptions = {}): Readiness {
  // Several services may list the same probe. It is checked and reported once.
  const probes = [...new Set(given)]
  const { timeoutMs = PROBE_TIMEOUT_MS, maxAgeMs = MAX_AGE_MS, monotonic = () => performance.now() } = options
  let draining = false
  let latest: Promise<ReadinessReport> | undefined
  let isChecking = false
  let askedAt = Number.NEGATIVE_INFINITY

  async function ask(probe: ReadinessProbe): Promise<Missing | undefined> {
    try {
      const reason = await withDeadline(probe.check(), timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`))
      return reason === undefined ? undefined : { name: probe.name, reason }
    } catch (error) {
      return { name: probe.name, reason: (error as Error).message }
    }
  }

  async function askAll(): Promise<ReadinessReport> {
    const results = await Promise.all(probes.map(async (probe) => ({ optional: probe.optional === true, missing: await ask(probe) })))
    const missing = results.filter((result) => !result.optional).flatMap((result) => result.missing ?? [])
    const degraded = results.filter((result) => result.optional).flatMap((result) => result.missing ?? [])
    return { missing, degraded }
  }

  return {
    async report() {
      // A check may take longer than a report is reused. Callers then wait for the running check instead of starting
      // another one.
      if (latest === undefined || (!isChecking && monotonic() - askedAt >= maxAgeMs)) {
        askedAt = monotonic()
        isChecking = true
        latest = askAll().finally(() => {
          isChecking = false
        })
      }
      const { missing, degraded } = await latest
      return { missing: draining ? [STOPPING, ...missing] : missing, degraded }
    },
    startDraining() {
      draining = true
    },
    get draining() {
      return draining
    },
  }
}

const STOPPING: Missing = { name: 'process', reason: 'stopping' }

/** Provides the number of a topic's partitions. */
interface PartitionCounts {
  partitionsOf(topic: { readonly name: string }): number
}

/** Returns the value that was read from a view, or throws `not_ready` if the view has not caught up. */
export function caughtUp<T>(found: T | typeof NOT_CAUGHT_UP, options?: ApiErrorOptions): T {
  if (found === NOT_CAUGHT_UP) throw new ApiError(errors.not_ready, options)
  return found
}

/**
 * Creates the probe of a view. The view is ready when all of its partitions have caught up. The view has the same
 * partitions as `topic`.
 *
 * The process becomes ready only when the view is ready. If the view is built again later, for example because Redis
 * was emptied, the process is degraded but stays ready. All processes read the same view. If they became unready,
 * load balancers would remove all of them, and with them the services that need other views.
 */
export function viewProbe(views: ViewReader, facts: PartitionCounts, view: string, topic: { readonly name: string }): ReadinessProbe {
  let wasReady = false
  return {
    name: `view ${view}`,
    get optional() {
      return wasReady
    },
    async check() {
      const missing = await missingPartitions(views, view, facts.partitionsOf(topic))
      if (missing.length > 0) return `still being built: partitions ${missing.join(', ')}`
      wasReady = true
      return undefined
    },
  }
}
