import type { PatientTimers } from '../../runtime/patient-timer.ts'
import { patientTimer } from '../../runtime/patient-timer.ts'
import type { CancelTimer } from '../../runtime/runtime.ts'

/**
 * How long a part of scoring may take while this process is too busy to read its answer. The normal limits are for
 * Redis, the models and the disk. A pause of this process, such as a garbage collection, must not leave a payment
 * without its velocities. Two parts that take this long one after the other still fit into the 100 ms of an answer.
 */
export const BUSY_MS = 50

/** Returns timers for time limits. While this process is busy, a limit is prolonged up to BUSY_MS. */
export function patientTimers(timers: PatientTimers): (ms: number, callback: () => void) => CancelTimer {
  return (ms, callback) => patientTimer(timers, ms, BUSY_MS, callback)
}
