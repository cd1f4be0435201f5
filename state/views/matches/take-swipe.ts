import type { ViewScript } from '../view.ts'
import { LEFT, MAX_RECENT_FIELDS, RECENT_KEPT_MS, type RecentSwipe } from './recent.ts'
import { RELATION_FUNCTIONS } from './relation.ts'
import { REFILL_BELOW, REFILL_EVERY_MS } from './stack.ts'
import type { UserKeys } from './users.ts'

/**
 * Adds a swipe to the recent events (see recent.ts), unless they already contain this swipe or a newer one on the same
 * target. If the events are full, no field for a further target is added, but the field `last` is still updated.
 * KEYS: 1 the recent events.
 * ARGV: 1 time to live in ms, 2 maximum number of fields, 3 time, 4 swipe id, 5 target, 6 direction, 7 the direction of
 * the swipe that a rewind took back, or an empty string.
 *
 * A rewind that is older than the user's newest swipe is not noted. If it were, a late rewind could show a user whom
 * the viewer has swiped since. A swipe that is noted late only hides its target for longer. Swipes from before the user
 * deleted their profile are not noted, because nothing would remove them.
 */
const NOTE_SWIPE = `
local at, id, target, direction = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local function isOlder(held)
  if not held then return true end
  local number, text = string.match(held, '^(%d+) (%S+)')
  return tonumber(number) < at or (tonumber(number) == at and text < id)
end
local field = 's:' .. target
local held, last, left = unpack(redis.call('HMGET', KEYS[1], field, 'last', '${LEFT}'))
local isVoid = left and tonumber(left) >= at
local isKnown = held and string.match(held, '^%d+ (%S+)') == id
local isLast = not isVoid and not isKnown and isOlder(last)
local hasRoom = not isVoid and (held or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[2]))
local swipe = ARGV[3] .. ' ' .. id .. ' ' .. direction
local isNoted = hasRoom and not isKnown and isOlder(held) and (isLast or direction ~= 'REWIND')
local after = swipe .. ' ' .. target .. ' ' .. ARGV[7]
if isNoted and isLast then redis.call('HSET', KEYS[1], field, swipe, 'last', after)
elseif isNoted then redis.call('HSET', KEYS[1], field, swipe)
elseif isLast then redis.call('HSET', KEYS[1], 'last', after) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
`

/**
 * Stores a note about a swipe, and about a match if the target likes the user and the answer may announce a match.
 * Removes the target from the stored candidates, and claims a refill if few candidates are left. A match that the view
 * includes needs no note, and nothing would remove such a note.
 *
 * KEYS: 1 the recent events, 2 the stack, 3 the claim of a refill, 4 the user's relations, 5 the user's likes.
 * ARGV: as in NOTE_SWIPE, then 8 `1` if the answer may announce a match, 9 the number of candidates below which a
 * refill is due, 10 time to live of the claim in ms.
 * Returns two flags: whether the refill is claimed, and whether the target likes the user or has an open match with the
 * user.
 */
export const TAKE_SWIPE: ViewScript = {
  name: 'take-swipe',
  source: `${RELATION_FUNCTIONS}${NOTE_SWIPE}
local claimed = 0
local stacked = redis.call('HLEN', KEYS[2])
if stacked > 0 then stacked = stacked - redis.call('HDEL', KEYS[2], target) end
if stacked > 0 and stacked - 1 < tonumber(ARGV[9]) then
  if redis.call('SET', KEYS[3], ARGV[3], 'NX', 'PX', ARGV[10]) then claimed = 1 end
end
local isLiked = redis.call('ZSCORE', KEYS[5], target)
if isLiked and ARGV[8] == '1' then redis.call('HSET', KEYS[1], 'm:' .. target, ARGV[3]) end
local relation = redis.call('HGET', KEYS[4], target)
if isLiked or (isMatched(relation) and not isSevered(relation)) then return {claimed, 1} end
return {claimed, 0}
`,
}

/**
 * Stores a note about a rewind. The stored candidates may lack the target of the rewind, so they are removed, and a
 * running search does not store its results. A rewind that is already noted removes nothing, because notes about
 * spooled rewinds are stored again every minute. KEYS: 1 the recent events, 2 the stack, 3 the lock of a search. ARGV:
 * as in NOTE_SWIPE.
 */
export const TAKE_REWIND: ViewScript = {
  name: 'take-rewind',
  source: `${NOTE_SWIPE}
if isNoted or isLast then redis.call('DEL', KEYS[2], KEYS[3]) end
return 1
`,
}

export interface TakenSwipe {
  /** True if the caller must request a refill. */
  readonly isRefillClaimed: boolean
  /** Whether the target likes the user or has an open match with the user. */
  readonly isLiked: boolean
}

export function takeSwipeKeys({ recent, stack, refill, relations, likes }: UserKeys): string[] {
  return [recent, stack, refill, relations, likes]
}

/**
 * How the API answers a swipe. `match`: the answer may announce a match. `queued`: the answer only confirms that the
 * swipe is queued. `none`: the API sends no answer, because it only stores the note of an earlier swipe again. Such a
 * note claims no refill.
 */
export type SwipeAnswer = 'match' | 'queued' | 'none'

/** Returns the arguments of TAKE_SWIPE. */
export function takeSwipeArguments(swipe: RecentSwipe, answer: SwipeAnswer): (string | number)[] {
  return [...noteSwipeArguments(swipe), answer === 'match' ? '1' : '0', answer === 'none' ? 0 : REFILL_BELOW, REFILL_EVERY_MS]
}

export function takenSwipe(answer: unknown): TakenSwipe {
  const [claimed, likes] = answer as [number, number]
  return { isRefillClaimed: claimed === 1, isLiked: likes === 1 }
}

export function takeRewindKeys({ recent, stack, building }: UserKeys): string[] {
  return [recent, stack, building]
}

/** Returns the arguments of NOTE_SWIPE. TAKE_REWIND has no other arguments. */
export function noteSwipeArguments({ at, swipeId, targetId, direction, undone = '' }: RecentSwipe): (string | number)[] {
  return [RECENT_KEPT_MS, MAX_RECENT_FIELDS, at, swipeId, targetId, direction, undone]
}
