const MONTH_LENGTH = 'yyyy-mm'.length
const DAY_LENGTH = 'yyyy-mm-dd'.length

/** Maximum number of times whose text is cached. Rows with counts contain few different times. */
const MAX_MINUTES = 1_024
const minutes = new Map<number, string>()

/**
 * Returns the time as ISO 8601. Use it for times that occur again and again, such as the start of a minute.
 * @param time epoch ms
 */
export function isoMinute(time: number): string {
  let text = minutes.get(time)
  if (text === undefined) {
    text = new Date(time).toISOString()
    if (minutes.size === MAX_MINUTES) minutes.clear()
    minutes.set(time, text)
  }
  return text
}

/**
 * Returns the UTC month, which differs between the partitions of a table partitioned by `toYYYYMM`.
 * @param time epoch ms
 */
export function isoMonth(time: number): string {
  return new Date(time).toISOString().slice(0, MONTH_LENGTH)
}

/**
 * Returns the UTC day, which differs between the partitions of a table partitioned by `toDate`.
 * @param time epoch ms
 */
export function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, DAY_LENGTH)
}
