import { type PatientTimers, patientTimer, systemTimers } from '../../../runtime/patient-timer.ts'
import { circuit } from '../../../state/redis/circuit.ts'

/** Reads data without which a list can still be served, although incomplete. */
export interface BoundedReads {
  /**
   * Runs a read. Returns undefined if the read fails or takes too long. While Redis does not respond at all, returns
   * undefined at once, and runs only some reads, in order to find out whether Redis responds again.
   */
  read<T>(work: () => Promise<T>): Promise<T | undefined>
}

export interface BoundedReadsOptions {
  readonly timeoutMs: number
  /** Monotonic ms. */
  monotonic(): number
  /** Default: those of this machine. */
  readonly timers?: PatientTimers
}

const LATE = Symbol('late')

/**
 * Creates reads with a time limit and a circuit. If Redis hangs, each request would wait for the whole time limit in
 * every round trip. The circuit prevents this wait. If Redis cannot be reached, reads fail at once even without the
 * circuit. The circuit covers all of Redis. If a single server of a cluster hangs, only its users and items are
 * delayed.
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
    // An answer to a read that was sent before the circuit opened does not close the circuit.
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
 * Waits for an answer up to a time limit. The limit is not prolonged while this process is busy, but an answer that is
 * already in the socket is still used.
 */
function untilLate<T>(work: Promise<T>, timeoutMs: number, timers: PatientTimers): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>()
  const cancelTimer = patientTimer(timers, timeoutMs, timeoutMs, () => resolve(LATE))
  return Promise.race([work, late]).finally(cancelTimer)
}
