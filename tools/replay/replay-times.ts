/** When the tweets of a recording are played. */
export interface ReplayTimes {
  /**
   * @param recordedAt epoch ms; never earlier than the last one
   * @returns ms after the beginning
   */
  next(recordedAt: number): number
}

/**
 * The recording's own rhythm, faster. Silences are cut short: between the six events of the set lie months.
 * @param speed ms of the recording per ms of playing
 * @param longestGapMs of the recording; longer silences last as long as this
 */
export function replayTimes(speed: number, longestGapMs: number): ReplayTimes {
  let before: number | undefined
  let played = 0
  return {
    next(recordedAt) {
      const gap = before === undefined ? 0 : Math.min(Math.max(0, recordedAt - before), longestGapMs)
      before = recordedAt
      played += gap
      return played / speed
    },
  }
}
