/** One measurement of a process. */
export interface Sample {
  /** Time since the beginning of the measurement, in ms. */
  readonly atMs: number
  readonly rssBytes: number
  readonly handles: number
}

/** Growth of a process's memory and file handles after the warm-up. */
export interface Growth {
  readonly meanRssBytes: number
  /** Slope of the least-squares line through the memory samples. */
  readonly rssBytesPerHour: number
  /** Rise of the fitted line from the end of the warm-up to the last sample, as a share of `meanRssBytes`. */
  readonly rssRise: number
  /** Highest number of handles in the first third of the samples after the warm-up. */
  readonly firstHandles: number
  /** Highest number of handles in the last third of the samples after the warm-up. */
  readonly lastHandles: number
}

/**
 * Share of a run that counts as warm-up. Samples from the warm-up are ignored, because caches are still filling and
 * code is still being compiled.
 */
const WARM_UP_SHARE = 1 / 3
const MS_PER_HOUR = 3_600_000
/**
 * Maximum rise of memory that still counts as flat. It allows for caches that are still filling, and for a varying
 * number of connections.
 */
const MAX_RSS_RISE = 0.1
/**
 * Maximum number of additional handles that still counts as no growth. Some are expected, because connections and table
 * files count twice while they are being replaced.
 */
const MAX_MORE_HANDLES = 10

/** @throws RangeError if there are too few samples after the warm-up for a line */
export function growth(samples: readonly Sample[]): Growth {
  const end = samples.at(-1)?.atMs ?? 0
  const warm = samples.filter(({ atMs }) => atMs >= end * WARM_UP_SHARE)
  if (warm.length < 3) throw new RangeError(`${warm.length} samples after the warm-up are too few for a line`)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const meanAt = mean(warm.map(({ atMs }) => atMs))
  const meanRss = mean(warm.map(({ rssBytes }) => rssBytes))
  const covariance = mean(warm.map(({ atMs, rssBytes }) => (atMs - meanAt) * (rssBytes - meanRss)))
  const perMs = covariance / mean(warm.map(({ atMs }) => (atMs - meanAt) ** 2))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const most = (part: readonly Sample[]) => Math.max(...part.map(({ handles }) => handles))
  return {
    meanRssBytes: meanRss,
    rssBytesPerHour: perMs * MS_PER_HOUR,
    rssRise: (perMs * (end - warm[0].atMs)) / meanRss,
    firstHandles: most(warm.slice(0, third)),
    lastHandles: most(warm.slice(-third)),
  }
}

/**
 * Checks that the growth of memory and of the number of handles is within the limits.
 * @returns a description of each problem
 */
export function growthFaults({ rssRise, firstHandles, lastHandles }: Growth): string[] {
  const faults: string[] = []
  if (rssRise > MAX_RSS_RISE) faults.push(`memory rose by ${(rssRise * 100).toFixed(1)} % after the warm-up`)
  if (lastHandles > firstHandles + MAX_MORE_HANDLES) faults.push(`open files rose from ${firstHandles} to ${lastHandles}`)
  return faults
}
