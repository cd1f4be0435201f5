const MS_PER_SECOND = 1_000

export interface Accuracy {
  /** Mean number of admitted requests per full window, relative to the limit. */
  readonly meanOfLimit: number
  /** Maximum number of admitted requests in any period of the window's length, relative to the limit. */
  readonly greatestOfLimit: number
}

/** @param admittedAt admission times of all processes, epoch ms */
export function accuracyOf(admittedAt: readonly number[], limit: number, windowSeconds: number): Accuracy {
  const times = [...admittedAt].sort((one, other) => one - other)
  const windowMs = windowSeconds * MS_PER_SECOND
  let greatest = 0
  let first = 0
  for (const [last, time] of times.entries()) {
    while (times[first] <= time - windowMs) first++
    greatest = Math.max(greatest, last - first + 1)
  }
  // The first and the last window are excluded, because the measured load covers only a part of each.
  const begin = (Math.floor(times[0] / windowMs) + 1) * windowMs
  const end = Math.floor((times.at(-1) as number) / windowMs) * windowMs
  const whole = times.filter((time) => time >= begin && time < end).length
  return { meanOfLimit: whole / ((end - begin) / windowMs) / limit, greatestOfLimit: greatest / limit }
}
