import { type PatientTimers, patientTimer, systemTimers } from '../../../runtime/patient-timer.ts'
import { circuit } from '../../../state/redis/circuit.ts'

/** Reads of what an incomplete list can do without. */
export interface BoundedReads {
  /**
   * Returns undefined if the work fails or takes too long, and at once while Redis does not answer at all. The work may
   * then run only to find out whether it answers again.
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
 * A circuit keeps requests from waiting for a Redis that hangs: each of them would wait for the whole time limit, once
 * per round trip. One that cannot be reached fails reads at once by itself. The circuit covers all of Redis: of a
 * cluster, one server that hangs delays only the users and items that it has.
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
    // The answer to a read that was sent before the circuit opened does not close it.
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

/** A limit that is not prolonged still gives an answer that is unread in the socket its chance. */
function untilLate<T>(work: Promise<T>, timeoutMs: number, timers: PatientTimers): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>()
  const cancelTimer = patientTimer(timers, timeoutMs, timeoutMs, () => resolve(LATE))
  return Promise.race([work, late]).finally(cancelTimer)
}
