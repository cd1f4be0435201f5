/** Computes the play times of recorded tweets. */
export interface ReplayTimes {
  /**
   * @param recordedAt epoch ms; must not decrease
   * @returns ms since the start of the replay
   */
  next(recordedAt: number): number
}

/**
 * Creates play times that are proportional to the times of the recording, except that long gaps are shortened. Months
 * separate the six events of the data set.
 * @param speed ms of the recording per ms of the replay
 * @param longestGapMs longer gaps of the recording are shortened to this length, in ms of the recording
 */
export function replayTimes(speed: number, longestGapMs: number): ReplayTimes {
  let before: number | undefined
  let played = 0
  return {
    next(recordedAt) {
      const gap = before === undefined ? 0 : Math.min(Math.max(0, recordedAt - before), longestGapMs)
      before = recordedAt
      played += gap
      // If all tweets of a recording have the same time, a speed that was computed from its length is 0 or not a
      // number.
      return played === 0 ? 0 : played / speed
    },
  }
}
