/** The range of times that every type of time column can store, in epoch ms. A DateTime holds seconds in 32 bits. */
const FIRST_TIME = 0
const LAST_TIME = (2 ** 32 - 1) * 1_000

/** Thrown for a time that a column cannot store, for example because a producer sent microseconds. */
export class ImpossibleTimeError extends Error {
  override readonly name = 'ImpossibleTimeError'
}

/**
 * Returns whether a column can store a time.
 * @param time epoch ms
 */
export function isPossibleTime(time: number): boolean {
  return time >= FIRST_TIME && time <= LAST_TIME
}

/**
 * Checks that a column can store a time.
 * @param time epoch ms
 * @throws ImpossibleTimeError
 */
export function checkTime(time: number): void {
  if (!isPossibleTime(time))
    throw new ImpossibleTimeError(`a table cannot store the time ${time}: times must be epoch ms from 1970 to 2106`)
}

/**
 * Returns the time in ISO format.
 * @param time epoch ms
 * @throws ImpossibleTimeError
 */
export function isoTime(time: number): string {
  checkTime(time)
  return new Date(time).toISOString()
}

/** Returns the time in ISO format, or null if there is none; see `isoTime`. */
export function isoTimeOrNull(time: number | null): string | null {
  return time === null ? null : isoTime(time)
}

const MONTH_LENGTH = 'yyyy-mm'.length
const DAY_LENGTH = 'yyyy-mm-dd'.length

/**
 * Returns the UTC month. It identifies the partition of a row in a table that is partitioned by `toYYYYMM`.
 * @param time epoch ms
 */
export function isoMonth(time: number): string {
  return isoTime(time).slice(0, MONTH_LENGTH)
}

/**
 * Returns the UTC day. It identifies the partition of a row in a table that is partitioned by `toDate`.
 * @param time epoch ms
 */
export function isoDay(time: number): string {
  return isoTime(time).slice(0, DAY_LENGTH)
}
