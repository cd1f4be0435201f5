const MONTH_LENGTH = 'yyyy-mm'.length
const DAY_LENGTH = 'yyyy-mm-dd'.length

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
