import type { DeadLetter, Drop, Late } from './api.ts'

/** Ignores the record deliberately; such records are counted separately for each reason. */
export function drop(reason: string): Drop {
  return { outcome: 'drop', reason }
}

/**
 * Rejects the record. Unless `OnError.reject` says otherwise, its original bytes go to the dead-letter topic, with a
 * code that operators can filter by.
 */
export function deadLetter(code: string, message: string): DeadLetter {
  return { outcome: 'dead-letter', code, message }
}

/**
 * The outcome for a record that came after its window and the grace period had ended. All late records share this
 * object, because they can be numerous.
 */
export const late: Late = { outcome: 'late' }
