/** The latest time that a Date can represent, epoch ms (ECMA-262, 21.4.1.1). The earliest is its negative. */
export const LAST_TIME_MS = 8.64e15

/**
 * Formats a time in ISO 8601.
 * @param time epoch ms
 * @throws RangeError if a Date cannot represent the time
 */
export function isoTime(time: number): string {
  return new Date(time).toISOString()
}
