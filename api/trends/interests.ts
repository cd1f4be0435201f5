import { setTimeout as delay } from 'node:timers/promises'
import { z } from '@hono/zod-openapi'
import { foldTerm, MAX_TERM_CODE_POINTS } from '../../schemas/trends/term.ts'
import { userInterests } from '../../schemas/trends/topics.ts'
import { type InterestProfile, MAX_WEIGHT, readInterests } from '../../state/views/trends/interests.ts'
import type { ViewReader } from '../../state/views/view.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import { ApiError, type ErrorDetail, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp } from '../kit/readiness.ts'

/** Maximum number of weighted topics, and of excluded topics. The preferences of one person need no more. */
const MAX_TOPICS = 1_000
/**
 * Maximum number of characters of a topic's name that an error quotes. Callers choose the names, so a name may be very
 * long.
 */
const MAX_SHOWN = 200

export const InterestsBody = z
  .object({
    topic_weights: z
      .record(z.string(), z.number().min(0).max(MAX_WEIGHT))
      .default({})
      .refine((weights) => Object.keys(weights).length <= MAX_TOPICS, `must have at most ${MAX_TOPICS} topics`)
      .openapi({ description: `Weight of each topic, from 0 to ${MAX_WEIGHT}. Each weight is stored as a 32-bit float.` }),
    exclude_topics: z
      .array(z.string().min(1))
      .max(MAX_TOPICS)
      .default([])
      .openapi({ description: 'Topics that never appear in the personalized list.' }),
  })
  .openapi('UserInterests')

export interface Interests {
  /**
   * Returns the profile of a user. The profile is empty if the user has set none. Throws `not_ready` while the view is
   * being built.
   */
  of(userId: bigint): Promise<InterestProfile>
  read(userId: bigint): Promise<Answer>
  write(userId: bigint, body: z.output<typeof InterestsBody>): Promise<Answer>
}

export interface InterestsOptions {
  readonly reader: ViewReader
  readonly facts: Facts
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  /** Pauses between two reads of the view. Default: a real pause. */
  sleep?(ms: number): Promise<unknown>
}

const EMPTY: InterestProfile = { topic_weights: {}, exclude_topics: [], updated_at: 0 }
/**
 * How long to wait for a write to become readable. This usually takes about 100 ms. After this time, the answer is 202.
 */
const READABLE_WITHIN_MS = 1_000
const LOOK_EVERY_MS = 25

export function interests({ reader, facts, now, monotonic, sleep = delay }: InterestsOptions): Interests {
  async function find(userId: bigint): Promise<InterestProfile | undefined> {
    const found = await readInterests(reader, facts.partitionOf(userInterests, userId), userId)
    return caughtUp(found, { message: 'Interest profiles are still being loaded. Try again shortly.' })
  }

  /**
   * Returns whether the view contains this write or a later write. Waits up to READABLE_WITHIN_MS.
   * @param before the time of the profile that was replaced. It may be later than this write, because other services
   * set it by their own clocks.
   */
  async function isReadable(userId: bigint, updatedAt: number, before: number | undefined): Promise<boolean> {
    const began = monotonic()
    // The time of the reads counts towards the limit, because each read takes up to a second while Redis hangs.
    for (let waited = 0; waited <= READABLE_WITHIN_MS; waited = Math.max(waited + LOOK_EVERY_MS, monotonic() - began)) {
      const found = await find(userId).catch(() => undefined)
      if (found?.updated_at === updatedAt) return true
      if (found !== undefined && found.updated_at > updatedAt && found.updated_at !== before) return true
      await sleep(LOOK_EVERY_MS)
    }
    return false
  }

  async function of(userId: bigint): Promise<InterestProfile> {
    return (await find(userId)) ?? EMPTY
  }

  return {
    of,
    async read(userId) {
      return jsonAnswer(200, profileBody(userId, await of(userId)), PRIVATE)
    },
    async write(userId, body) {
      const profile = { ...checkedTopics(body), updated_at: now() }
      const before = await find(userId).catch(() => undefined)
      await facts.publish(userInterests, userId, { user_id: userId, ...profile })
      const status = (await isReadable(userId, profile.updated_at, before?.updated_at)) ? 200 : 202
      return jsonAnswer(status, profileBody(userId, profile), PRIVATE)
    },
  }
}

function profileBody(userId: bigint, profile: InterestProfile) {
  return {
    user_id: userId.toString(),
    topic_weights: profile.topic_weights,
    exclude_topics: profile.exclude_topics,
    updated_at: timeText(profile.updated_at),
  }
}

/**
 * Formats a time as ISO 8601.
 * @returns null for 0 and for an invalid time. Other services may write invalid times.
 */
function timeText(epochMs: number): string | null {
  const time = new Date(epochMs)
  return epochMs === 0 || Number.isNaN(time.getTime()) ? null : time.toISOString()
}

/**
 * Checks that each topic folds to a term and that no topic has two weights. Removes duplicate excluded topics, and
 * rounds weights to 32-bit floats.
 */
function checkedTopics(body: z.output<typeof InterestsBody>): Pick<InterestProfile, 'topic_weights' | 'exclude_topics'> {
  const details: ErrorDetail[] = []
  const weights = new Map<string, string>()
  for (const topic of Object.keys(body.topic_weights)) {
    const path = `body.topic_weights.${topic.slice(0, MAX_SHOWN)}`
    const term = foldTerm(topic)
    if (term === undefined) details.push({ path, message: NO_TERM })
    else if (weights.has(term)) details.push({ path, message: `is the same topic as ${weights.get(term)}` })
    else weights.set(term, topic)
  }
  const muted = new Map<string, string>()
  body.exclude_topics.forEach((topic, index) => {
    const term = foldTerm(topic)
    if (term === undefined) details.push({ path: `body.exclude_topics[${index}]`, message: NO_TERM })
    else if (!muted.has(term)) muted.set(term, topic)
  })
  if (details.length > 0) throw new ApiError(errors.invalid_request, { details })
  const topic_weights = Object.fromEntries(Object.entries(body.topic_weights).map(([topic, weight]) => [topic, Math.fround(weight)]))
  return { topic_weights, exclude_topics: [...muted.values()] }
}

const NO_TERM = `is empty, longer than ${MAX_TERM_CODE_POINTS} characters, or contains a NUL`
