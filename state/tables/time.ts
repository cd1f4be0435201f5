const MONTH_LENGTH = 'yyyy-mm'.length

/** The month in UTC, as ClickHouse's `toYYYYMM` tells it apart. @param time epoch ms */
export function isoMonth(time: number): string {
  return new Date(time).toISOString().slice(0, MONTH_LENGTH)
}
