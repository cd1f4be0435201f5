import type { PatientTimers } from '../../runtime/patient-timer.ts'
import { patientTimer } from '../../runtime/patient-timer.ts'
import type { CancelTimer } from '../../runtime/runtime.ts'

/**
 * How long a part of scoring may take while this process is too busy to read the answer. The normal time limits apply
 * to the work of Redis, the models and the disk. A pause in this process, such as a garbage collection, must not leave
 * a payment without its velocities. Even if two parts in a row take this long, the answer still meets its limit of 100
 * ms.
 */
export const BUSY_MS = 50

/** Returns a function that sets time limits. While this process is busy, a limit is extended to at most BUSY_MS. */
export function patientTimers(timers: PatientTimers): (ms: number, callback: () => void) => CancelTimer {
  return (ms, callback) => patientTimer(timers, ms, BUSY_MS, callback)
}
