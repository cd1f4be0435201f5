import { type PatientTimers, patientTimer, systemTimers } from '../../../runtime/patient-timer.ts'
import { circuit } from '../../../state/redis/circuit.ts'

/** Reads data from Redis. A list can be computed even without this data. */
export interface BoundedReads {
  /**
   * Runs a read. Returns undefined if the read fails or takes too long. While the circuit is open, returns undefined at
   * once, and sends only a few reads as probes, to find out whether Redis responds again.
   */
  read<T>(work: () => Promise<T>): Promise<T | undefined>
}

export interface BoundedReadsOptions {
  readonly timeoutMs: number
  /** Monotonic ms. */
  monotonic(): number
  /** Default: the timers of the system. */
  readonly timers?: PatientTimers
}

const LATE = Symbol('late')

/**
 * Creates reads with a time limit and a circuit breaker. Without the breaker, each request would wait for the whole
 * time limit in every round trip while Redis hangs. If Redis cannot be reached, reads fail at once anyway. All servers
 * of a Redis cluster share one breaker. If only one server hangs, answers from the others keep the breaker closed, so
 * reads from the server that hangs wait for the whole time limit.
 */
export function boundedReads({ timeoutMs, monotonic, timers = systemTimers }: BoundedReadsOptions): BoundedReads {
  const state = circuit(monotonic)

  async function attempt<T>(work: () => Promise<T>, isProbe: boolean): Promise<T | undefined> {
    const outcome = await untilLate(
      work().catch(() => undefined),
      timeoutMs,
      timers,
    )
    if (outcome === LATE) {
      state.late()
      return undefined
    }
    // While the circuit is open, only probes may close it. Other answers belong to reads that were sent before the
    // circuit opened.
    if (isProbe || !state.isOpen) state.answered()
    return outcome
  }

  return {
    async read(work) {
      const admitted = state.admit()
      if (admitted === 'send') return await attempt(work, false)
      if (admitted === 'probe') void attempt(work, true)
      return undefined
    },
  }
}

/**
 * Waits for an answer up to a time limit. The limit is not extended while this process is busy, but an answer that is
 * already in the socket is still used.
 */
function untilLate<T>(work: Promise<T>, timeoutMs: number, timers: PatientTimers): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>()
  const cancelTimer = patientTimer(timers, timeoutMs, timeoutMs, () => resolve(LATE))
  return Promise.race([work, late]).finally(cancelTimer)
}
