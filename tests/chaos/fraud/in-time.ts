import { meets } from './answered.ts'
import type { Evidence } from './evidence.ts'
import type { ScoreCall } from './requests.ts'

/** How long after a fault an API may still answer late, because it must first answer the requests that were waiting. */
const WORKED_OFF_MS = 500
const P99 = 0.99
/** Limits for the duration of calls to a live API. */
export interface Limits {
  readonly p99Ms: number
  readonly mostMs: number
}

export interface Times {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** Returns a description of each limit that the response times of live APIs exceeded. */
export function inTime(evidence: Evidence, { p99Ms, mostMs }: Limits): string[] {
  const { p99, most } = timesOf(evidence)
  return [
    ...(p99 > p99Ms ? [`1 % of the answers took ${p99} ms or more, and the limit is ${p99Ms} ms`] : []),
    ...(most > mostMs ? [`an answer took ${most} ms, and the limit is ${mostMs} ms`] : []),
  ]
}

/**
 * Returns percentiles and the maximum of the durations, in ms, of answered calls. Leaves out calls to APIs that were
 * killed or suspended at the time or shortly before.
 */
export function timesOf({ calls, inflicted }: Evidence): Times {
  const isLive = (call: ScoreCall) => !inflicted.apis.some((trouble) => trouble.api === call.api && meets(trouble, call, WORKED_OFF_MS))
  const times = calls.scores
    .filter(({ status }) => status === 200 || status === 409)
    .filter(isLive)
    .map(({ from, to }) => to - from)
    .sort((one, other) => one - other)
  return { p50: percentile(times, 0.5), p99: percentile(times, P99), most: times.at(-1) ?? 0 }
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
