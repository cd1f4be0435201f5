import type { DeadLetter, Drop, Late } from './api.ts'

/** Ignores the record on purpose; counted by reason. */
export function drop(reason: string): Drop {
  return { outcome: 'drop', reason }
}

/** Sends the record's original bytes to the dead-letter topic, under a code that operators can filter by. */
export function deadLetter(code: string, message: string): DeadLetter {
  return { outcome: 'dead-letter', code, message }
}

/** The record is behind its window and grace: one object, since late records come in floods. */
export const late: Late = { outcome: 'late' }
