import { meets } from './answered.ts'
import type { Evidence } from './evidence.ts'
import type { Beat } from './pulse.ts'
import type { ScoreCall } from './requests.ts'

/** How long after a fault an API may still answer late, because it must first answer the requests that were waiting. */
const WORKED_OFF_MS = 500
const P99 = 0.99
/**
 * On a busy machine, every step of a score waits for the CPU, while a trivial request waits only once. All answers then
 * take longer, so the limits grow by this many times the median. An API that waits for a missing part is late only for
 * the payments during the fault. They are too few to change the median.
 */
const MEDIANS_OF_LENIENCE = 10

/** Limits for the duration of calls to a live API. */
export interface Limits {
  readonly p99Ms: number
  readonly mostMs: number
  /**
   * If false, the time that the same API took for a trivial request at the same moment is subtracted, and the limits
   * grow with the median, so that they also hold on a busy machine.
   */
  readonly isWhole: boolean
}

export interface Times {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** Returns a description of each limit that the response times of live APIs exceeded. */
export function inTime(evidence: Evidence, { p99Ms, mostMs, isWhole }: Limits): string[] {
  const { p50, p99, most } = timesOf(evidence, isWhole)
  const lenience = isWhole ? 0 : MEDIANS_OF_LENIENCE * p50
  const [p99Limit, mostLimit] = [p99Ms + lenience, mostMs + lenience]
  return [
    ...(p99 > p99Limit ? [`1 % of the answers took ${p99} ms or more, and the limit is ${p99Limit} ms`] : []),
    ...(most > mostLimit ? [`an answer took ${most} ms, and the limit is ${mostLimit} ms`] : []),
  ]
}

/** Returns percentiles of the durations, in ms, of calls to APIs that were neither killed nor suspended at the time. */
export function timesOf({ calls, inflicted, beats }: Evidence, isWhole: boolean): Times {
  const isLive = (call: ScoreCall) => !inflicted.apis.some((trouble) => trouble.api === call.api && meets(trouble, call, WORKED_OFF_MS))
  const ofApi = Map.groupBy(beats, ({ api }) => api)
  const times = calls.scores
    .filter(({ status }) => status === 200 || status === 409)
    .filter(isLive)
    .map((call) => Math.max(0, call.to - call.from - (isWhole ? 0 : machineMs(call, ofApi.get(call.api) ?? []))))
    .sort((one, other) => one - other)
  return { p50: percentile(times, 0.5), p99: percentile(times, P99), most: times.at(-1) ?? 0 }
}

/**
 * Returns the longest time that a trivial request took during the call, in ms.
 * @param beats in chronological order
 */
function machineMs(call: ScoreCall, beats: readonly Beat[]): number {
  let most = 0
  for (let index = firstEndingAt(beats, call.from); index < beats.length && beats[index].from <= call.to; index++)
    most = Math.max(most, beats[index].to - beats[index].from)
  return most
}

function firstEndingAt(beats: readonly Beat[], time: number): number {
  let [low, high] = [0, beats.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (beats[middle].to < time) low = middle + 1
    else high = middle
  }
  return low
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
