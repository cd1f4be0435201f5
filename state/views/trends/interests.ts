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

export type InterestProfile = Omit<UserInterests, 'user_id'>

export const interestsView: View<bigint, UserInterests> = { name: INTERESTS_VIEW, operationsFor }

function operationsFor(partition: number, userId: bigint, profile: UserInterests | null): ViewOperation[] {
  const key = profileKey(partition, userId)
  if (profile === null) return [{ op: 'del', key }]
  const { topic_weights, exclude_topics, updated_at } = profile
  return [{ op: 'set', key, value: JSON.stringify({ topic_weights, exclude_topics, updated_at }) }]
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
