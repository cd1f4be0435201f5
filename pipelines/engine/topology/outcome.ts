import type { DeadLetter, Drop, Late } from './api.ts'

/**
 * Returns the outcome for a record that is ignored deliberately. Such records are counted separately for each reason.
 */
export function drop(reason: string): Drop {
  return { outcome: 'drop', reason }
}

/**
 * Returns the outcome for a rejected record. Unless `OnError.reject` says otherwise, the record's original bytes go to
 * the dead-letter topic, with a code that operators can filter by.
 */
export function deadLetter(code: string, message: string): DeadLetter {
  return { outcome: 'dead-letter', code, message }
}

/**
 * The outcome for a record that came after its window and the grace period had ended. All late records share this
 * object, because they can be numerous.
 */
export const late: Late = { outcome: 'late' }
