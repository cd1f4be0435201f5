import type { UserInterests } from '../../../schemas/trends/types.ts'
import { NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Interest profiles, keyed by user. Fed by `user-interests` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{interests:<p>}:profile:<user_id>` | JSON: topic_weights, exclude_topics, updated_at (epoch ms) |
 */
export const INTERESTS_VIEW = 'interests'
/** The maximum weight of a topic. */
export const MAX_WEIGHT = 1_000

export type InterestProfile = Omit<UserInterests, 'user_id'>

export const interestsView: View<bigint, UserInterests> = { name: INTERESTS_VIEW, operationsFor }

function operationsFor(partition: number, userId: bigint, profile: UserInterests | null): ViewOperation[] {
  const key = profileKey(partition, userId)
  if (profile === null) return [{ op: 'del', key }]
  const { topic_weights, exclude_topics, updated_at } = profile
  return [{ op: 'set', key, value: JSON.stringify({ topic_weights: validWeights(topic_weights), exclude_topics, updated_at }) }]
}

/**
 * Leaves out weights that are NaN, and limits the others to the range that the API accepts. Other services may write
 * any numbers, but JSON has neither NaN nor Infinity, and a negative weight would reverse the order of scores.
 */
function validWeights(weights: UserInterests['topic_weights']): Record<string, number> {
  const known = Object.entries(weights).filter(([, weight]) => !Number.isNaN(weight))
  return Object.fromEntries(known.map(([topic, weight]) => [topic, Math.min(MAX_WEIGHT, Math.max(0, weight))]))
}

/** @returns undefined when the user has no profile */
export async function readInterests(
  reader: ViewReader,
  partition: number,
  userId: bigint,
): Promise<InterestProfile | undefined | typeof NOT_CAUGHT_UP> {
  const value = await withCaughtUp(reader, INTERESTS_VIEW, partition, reader.get(profileKey(partition, userId)))
  if (value === NOT_CAUGHT_UP || value === null) return value ?? undefined
  return JSON.parse(value) as InterestProfile
}

function profileKey(partition: number, userId: bigint): string {
  return `${viewTag(INTERESTS_VIEW, partition)}:profile:${userId}`
}
