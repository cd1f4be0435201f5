import type { MatchRelation } from '../../../schemas/matches/types.ts'
import type { Cause } from './recent.ts'

/** The relation of a user to another user. Times are in epoch ms. */
export interface Relation {
  readonly likedAt: number | undefined
  readonly isSuperLike: boolean
  /** Time of the match. The ids of the match and its conversation are computed from the user ids. */
  readonly matchedAt: number | undefined
  readonly hasEnded: boolean
  readonly blocks: boolean
  readonly isBlocked: boolean
}

/** The stored form of a relation. Field names are short, because a user may have thousands of relations. */
interface StoredRelation {
  readonly l?: number
  readonly s?: 1
  /** Time of the match. Earlier versions stored the ids of the match and of its conversation, too. */
  readonly m?: number | readonly [id: string, conversation: string, at: number]
  readonly e?: 1
  readonly b?: 1
  readonly i?: 1
}

const NOTHING: Relation = {
  likedAt: undefined,
  isSuperLike: false,
  matchedAt: undefined,
  hasEnded: false,
  blocks: false,
  isBlocked: false,
}

/**
 * Returns the value of a relation in Redis. Most relations are received likes. They are stored as a whole number, which
 * takes 9 bytes in Redis: the time of the like, negative for a super-like. All other relations are JSON. No value is
 * longer than 64 bytes, because a single longer value would make Redis store all relations of the user in a form that
 * takes three times the memory.
 */
export function storedRelation(relation: MatchRelation): string {
  const { liked_at, is_super_like, match_id, matched_at, has_ended, blocks, is_blocked } = relation
  if (liked_at !== null && match_id === null && !blocks && !is_blocked) return String(is_super_like ? -liked_at : liked_at)
  const stored: StoredRelation = {
    ...(liked_at !== null && { l: liked_at }),
    ...(is_super_like && { s: 1 }),
    ...(match_id !== null && { m: matched_at ?? 0 }),
    ...(has_ended && { e: 1 }),
    ...(blocks && { b: 1 }),
    ...(is_blocked && { i: 1 }),
  }
  return JSON.stringify(stored)
}

/** Also reads what earlier versions have stored. */
export function parseRelation(text: string): Relation {
  if (!text.startsWith('{')) {
    const time = Number(text)
    return { ...NOTHING, likedAt: Math.abs(time), isSuperLike: time < 0 }
  }
  const { l, s, m, e, b, i } = JSON.parse(text) as StoredRelation
  return {
    likedAt: l,
    isSuperLike: s === 1,
    matchedAt: typeof m === 'object' ? m[2] : m,
    hasEnded: e === 1,
    blocks: b === 1,
    isBlocked: i === 1,
  }
}

/**
 * A Lua function that returns whether a stored relation shows a like by the other user or a match. The relation is a
 * string, or false if there is none.
 */
export const IS_LIKED = `
local function isLiked(relation)
  if not relation then return false end
  if string.sub(relation, 1, 1) ~= '{' then return true end
  return string.find(relation, '"[lm]":') ~= nil and not string.find(relation, '"e":', 1, true)
end
`

/** A Lua function that works like `isSevered`. The relation is a string, or false if there is none. */
export const IS_SEVERED = `
local function isSevered(relation) return relation and string.find(relation, '"[bie]":') ~= nil end
`

/** Returns why the user may not see the other user; undefined if nothing forbids it. */
export function causeOf({ hasEnded, blocks, isBlocked }: Relation): Cause | undefined {
  if (blocks) return 'blocks'
  if (isBlocked) return 'blocked'
  return hasEnded ? 'ended' : undefined
}

/** Returns whether one of the users has ended the relation, so that neither may see the other. */
export function isSevered(relation: Relation): boolean {
  return causeOf(relation) !== undefined
}
