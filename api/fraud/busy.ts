import type { PatientTimers } from '../../runtime/patient-timer.ts'
import { patientTimer } from '../../runtime/patient-timer.ts'
import type { CancelTimer } from '../../runtime/runtime.ts'

/**
 * Maximum time that a part of scoring may take while this process is too busy to read the part's answer. The normal
 * time limits are meant for Redis, the models and the disk. They must not expire because of a pause in this process,
 * such as a garbage collection, since the payment would then be scored without its velocities.
 */
export const BUSY_MS = 50

/** Returns a function that sets time limits. While this process is busy, a limit is extended to at most BUSY_MS. */
export function patientTimers(timers: PatientTimers): (ms: number, callback: () => void) => CancelTimer {
  return (ms, callback) => patientTimer(timers, ms, BUSY_MS, callback)
}
