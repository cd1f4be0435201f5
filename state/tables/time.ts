const MONTH_LENGTH = 'yyyy-mm'.length
const DAY_LENGTH = 'yyyy-mm-dd'.length

/** The month in UTC, as ClickHouse's `toYYYYMM` tells it apart. @param time epoch ms */
export function isoMonth(time: number): string {
  return new Date(time).toISOString().slice(0, MONTH_LENGTH)
}

/** The day in UTC, as ClickHouse's `toDate` tells it apart. @param time epoch ms */
export function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, DAY_LENGTH)
}
