import type { Limit } from '../../../../api/limits/core/formulas.ts'

/**
 * A straightforward model of the two algorithms in docs/services/limits.md#sliding-window and
 * docs/services/limits.md#token-bucket. The model of the sliding window keeps the times of admitted requests in a list.
 * Times are in µs.
 */
export interface Model {
  /**
   * Decides a request that takes this number of units, by default one, and counts it if it is admitted.
   * @returns whether the request is admitted
   */
  request(nowUs: number, units?: number): boolean
}

const US_PER_SECOND = 1_000_000

export function modelOf(limit: Limit): Model {
  return limit.burst > 0 ? bucketModel(limit) : windowModel(limit)
}

function windowModel({ limit, windowSeconds }: Limit): Model {
  const size = windowSeconds * US_PER_SECOND
  const admitted: number[] = []
  return {
    request(nowUs, units = 1) {
      const start = Math.floor(nowUs / size) * size
      while (admitted[0] < start - size) admitted.shift()
      const current = admitted.filter((time) => time >= start).length
      const previous = admitted.filter((time) => time >= start - size && time < start).length
      const estimated = previous * (1 - (nowUs - start) / size) + current
      if (estimated + units - 1 >= limit) return false
      for (let unit = 0; unit < units; unit++) admitted.push(nowUs)
      return true
    },
  }
}

function bucketModel({ limit, windowSeconds, burst }: Limit): Model {
  const capacity = limit + burst
  let tokens = capacity
  let since: number | undefined
  return {
    request(nowUs, units = 1) {
      if (since !== undefined) tokens = Math.min(capacity, tokens + ((nowUs - since) * limit) / (windowSeconds * US_PER_SECOND))
      since = nowUs
      if (tokens < units) return false
      tokens -= units
      return true
    },
  }
}
