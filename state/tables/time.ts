const MONTH_LENGTH = 'yyyy-mm'.length
const DAY_LENGTH = 'yyyy-mm-dd'.length

/**
 * Returns the UTC month, which distinguishes the partitions of ClickHouse's `toYYYYMM`.
 * @param time epoch ms
 */
export function isoMonth(time: number): string {
  return new Date(time).toISOString().slice(0, MONTH_LENGTH)
}

/**
 * Returns the UTC day, which distinguishes the partitions of ClickHouse's `toDate`.
 * @param time epoch ms
 */
export function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, DAY_LENGTH)
}
