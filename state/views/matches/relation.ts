import type { MatchRelation } from '../../../schemas/matches/types.ts'
import { readableJson } from '../readable.ts'
import type { Cause } from './recent.ts'

/** The relation of a user to another user. Times are in epoch ms. */
export interface Relation extends Like, Bond {}

/** A like by the other user. There is none if the two users have a match, or one of them blocks the other. */
export interface Like {
  readonly likedAt: number | undefined
  readonly isSuperLike: boolean
}

/** The match of two users, and blocks between them. */
interface Bond {
  /** Time of the match. The ids of the match and its conversation are computed from the user ids. */
  readonly matchedAt: number | undefined
  readonly hasEnded: boolean
  readonly blocks: boolean
  readonly isBlocked: boolean
}

/** The stored form of a match and blocks. Field names are short, because a user may have thousands of relations. */
interface StoredBond {
  /** Time of the match. */
  readonly m?: number
  readonly e?: 1
  readonly b?: 1
  readonly i?: 1
}

/**
 * Maximum number of received likes that are stored per user. The newest likes are kept. A very popular user may receive
 * millions of likes, each of which takes about 140 bytes. A like that is left out still leads to a match, because the
 * pipeline finds matches without the view.
 */
export const MAX_KEPT_LIKES = 10_000

const NO_LIKE: Like = { likedAt: undefined, isSuperLike: false }
const NO_BOND: Bond = { matchedAt: undefined, hasEnded: false, blocks: false, isBlocked: false }
/** An entry that cannot be parsed. It may have been a block, so it hides the users from each other. */
const UNREADABLE: Bond = { ...NO_BOND, hasEnded: true }

/**
 * Returns the entry of a relation in the hash `relations`; null if there is no match and no block. The entry is JSON of
 * at most 64 bytes. A single longer value would make Redis store all entries of the user in a form that takes three
 * times the memory.
 */
export function storedRelation({ match_id, matched_at, has_ended, blocks, is_blocked }: MatchRelation): string | null {
  if (match_id === null && !blocks && !is_blocked) return null
  const stored: StoredBond = {
    ...(match_id !== null && { m: matched_at ?? 0 }),
    ...(has_ended && { e: 1 }),
    ...(blocks && { b: 1 }),
    ...(is_blocked && { i: 1 }),
  }
  return JSON.stringify(stored)
}

/**
 * Returns the score of a relation in the sorted set `likes`; null if the other user does not like the user, or if the
 * relation has an entry in `relations`. Scores are whole numbers, which Redis stores in a short form. They sort by
 * time, and super-likes have odd scores.
 */
export function likeScore(relation: MatchRelation): number | null {
  if (relation.liked_at === null || storedRelation(relation) !== null) return null
  return 2 * relation.liked_at + (relation.is_super_like ? 1 : 0)
}

/** @param score from `likeScore` */
export function parseLike(score: number): { readonly likedAt: number; readonly isSuperLike: boolean } {
  return { likedAt: Math.floor(score / 2), isSuperLike: score % 2 === 1 }
}

/**
 * Returns the score of a relation in the sorted set `matches`: the time of the match, negative if the match has ended
 * or one of the users blocks the other; null if there is no match.
 */
export function matchScore(relation: MatchRelation): number | null {
  if (relation.match_id === null) return null
  const at = relation.matched_at ?? 0
  return relation.has_ended || relation.blocks || relation.is_blocked ? -at : at
}

/**
 * Parses what is stored about a user's relation to another user.
 * @param text the entry in `relations`; null if there is none
 * @param score the score in `likes`; null if there is none
 */
export function parseRelation(text: string | null, score: number | null): Relation {
  return { ...(score === null ? NO_LIKE : parseLike(score)), ...(text === null ? NO_BOND : parseBond(text)) }
}

function parseBond(text: string): Bond {
  const stored = readableJson<StoredBond>(text)
  if (stored === undefined) return UNREADABLE
  const { m, e, b, i } = stored
  return { matchedAt: m, hasEnded: e === 1, blocks: b === 1, isBlocked: i === 1 }
}

/**
 * Lua functions that take a user's entry in `relations`, or false if there is none. `isMatched` returns whether the two
 * users have a match, even one that has ended. `isSevered` works like the function of this name below.
 */
export const RELATION_FUNCTIONS = `
local function isMatched(relation) return relation and string.find(relation, '"m":', 1, true) ~= nil end
local function isSevered(relation) return relation and string.find(relation, '"[bie]":') ~= nil end
`

/** Returns why the user may not see the other user; undefined if nothing forbids it. */
export function causeOf({ hasEnded, blocks, isBlocked }: Bond): Cause | undefined {
  if (blocks) return 'blocks'
  if (isBlocked) return 'blocked'
  return hasEnded ? 'ended' : undefined
}

/** Returns whether a block or the end of the match hides the two users from each other. */
export function isSevered(relation: Bond): boolean {
  return causeOf(relation) !== undefined
}
