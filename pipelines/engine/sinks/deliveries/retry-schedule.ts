const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** A pause between attempts, and the number of attempts with this pause before the next longer pause applies. */
interface Step {
  readonly pauseMs: number
  readonly attempts: number
}

/**
 * The schedule of all pauses. The first retries come soon, because most faults are over within seconds. The pauses grow
 * to an hour, so that a receiver that is down for a day gets about forty requests per record. Each pause has its own
 * partitions in the retry topic. The records of a partition are therefore roughly in the order in which they are due,
 * and records with short pauses do not wait behind those with long pauses.
 */
const STEPS: readonly Step[] = [
  { pauseMs: SECOND_MS, attempts: 2 },
  { pauseMs: 10 * SECOND_MS, attempts: 3 },
  { pauseMs: MINUTE_MS, attempts: 5 },
  { pauseMs: 10 * MINUTE_MS, attempts: 6 },
  { pauseMs: HOUR_MS, attempts: Number.POSITIVE_INFINITY },
]

/** Number of different pauses. */
export const RETRY_STEPS = STEPS.length
/** Longest pause of any record, regardless of what the receiver requests. */
export const LONGEST_PAUSE_MS = HOUR_MS * 1.2
/** Maximum share of a pause that is added at random, so that records that failed together are not retried together. */
const JITTER = 0.2

export interface Failure {
  /** Number of failed attempts so far, at least 1. */
  readonly failures: number
  /** Time of the first attempt, epoch ms. */
  readonly firstAt: number
  /** Epoch ms. */
  readonly now: number
  /** The pause that the receiver requests. */
  readonly retryAfterMs?: number | undefined
}

export interface RetryPlan {
  /** Index of the pause in the schedule, from 0. */
  readonly step: number
  /** Epoch ms. */
  readonly notBefore: number
}

/** Plans the next attempt after a failure. @returns undefined if `giveUpAfterMs` has passed since the first attempt */
export function planRetry(failure: Failure, giveUpAfterMs: number, random: () => number): RetryPlan | undefined {
  const { failures, firstAt, now, retryAfterMs = 0 } = failure
  const lastAt = firstAt + giveUpAfterMs
  if (now >= lastAt) return undefined
  const own = stepAfter(failures)
  const pauseMs = STEPS[own].pauseMs * (1 + JITTER * random())
  const wanted = Math.min(Math.max(pauseMs, retryAfterMs), LONGEST_PAUSE_MS)
  const asked = STEPS.findLastIndex((step) => step.pauseMs <= retryAfterMs)
  // The last attempt is made `giveUpAfterMs` after the first one, even if the pause would end later.
  return { step: Math.max(own, asked), notBefore: Math.min(Math.ceil(now + wanted), lastAt) }
}

function stepAfter(failures: number): number {
  let sum = 0
  return STEPS.findIndex(({ attempts }) => {
    sum += attempts
    return failures <= sum
  })
}

/**
 * Returns the partition of the retry topic in which a record waits.
 * @param hash a number that spreads the records of one pause over its partitions
 * @param partitions number of partitions of the retry topic; if there are fewer partitions than pauses, some pauses
 * share a partition
 */
export function retryPartition(step: number, hash: number, partitions: number): number {
  const perStep = Math.max(1, Math.floor(partitions / RETRY_STEPS))
  return (step + RETRY_STEPS * (hash % perStep)) % partitions
}
