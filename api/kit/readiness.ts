import { missingPartitions, type ViewReader } from '../../state/views/view.ts'
import { withDeadline } from './deadline.ts'

/** One thing that must be there before requests can be answered. */
export interface ReadinessProbe {
  readonly name: string
  /** True: without it some requests fail, but the process still should get others. */
  readonly optional?: boolean
  /** undefined: there. Otherwise what is missing, in words. May throw: that is missing too. */
  check(): Promise<string | undefined>
}

export interface Missing {
  readonly name: string
  readonly reason: string
}

export interface ReadinessReport {
  /** Empty: ready. */
  readonly missing: readonly Missing[]
  /** Optional parts that are missing. */
  readonly degraded: readonly Missing[]
}

export interface Readiness {
  report(): Promise<ReadinessReport>
  /** From now on not ready: the process stops. */
  startDraining(): void
  readonly draining: boolean
}

/** A probe that does not answer is a missing part, not a hanging health check. */
const PROBE_TIMEOUT_MS = 2_000

export function readiness(probes: readonly ReadinessProbe[], timeoutMs: number = PROBE_TIMEOUT_MS): Readiness {
  let draining = false

  async function ask(probe: ReadinessProbe): Promise<Missing | undefined> {
    try {
      const reason = await withDeadline(probe.check(), timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`))
      return reason === undefined ? undefined : { name: probe.name, reason }
    } catch (error) {
      return { name: probe.name, reason: (error as Error).message }
    }
  }

  return {
    async report() {
      const results = await Promise.all(probes.map(async (probe) => ({ optional: probe.optional === true, missing: await ask(probe) })))
      const missing = results.filter((result) => !result.optional).flatMap((result) => result.missing ?? [])
      const degraded = results.filter((result) => result.optional).flatMap((result) => result.missing ?? [])
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

/** Knows how many partitions a topic has. */
interface PartitionCounts {
  partitionsOf(topic: { readonly name: string }): number
}

/** A view that is partitioned as `topic` is ready when every partition is caught up. */
export function viewProbe(views: ViewReader, facts: PartitionCounts, view: string, topic: { readonly name: string }): ReadinessProbe {
  return {
    name: `view ${view}`,
    async check() {
      const missing = await missingPartitions(views, view, facts.partitionsOf(topic))
      return missing.length === 0 ? undefined : `still being built: partitions ${missing.join(', ')}`
    },
  }
}
