import type { ViewScript } from '../view.ts'
import { LEFT } from './recent.ts'
import type { UserKeys } from './users.ts'

/**
 * Distance in km above which a move counts as a jump. The number of jumps per hour is limited, because a user who
 * searches from many places could compute where a candidate is.
 */
export const JUMP_KM = 1
const MAX_JUMPS = 20
const WINDOW_MS = 3_600_000
const MS_PER_SECOND = 1_000

/**
 * Counts a jump if the limit allows it. A user's first location is not a jump, except after the user has deleted a
 * profile. Without this exception, users could move as often as they like by deleting and recreating their profiles.
 *
 * KEYS: 1 times of jumps, 2 the recent events.
 * ARGV: 1 now in epoch ms, 2 window in ms, 3 maximum number, 4 a unique member, 5 `1` if the user has no location yet.
 * Returns 0 if the jump is allowed, otherwise the time in ms until a jump is allowed.
 */
export const COUNT_JUMP: ViewScript = {
  name: 'count-jump',
  source: `
if ARGV[5] == '1' and redis.call('HEXISTS', KEYS[2], '${LEFT}') == 0 then return 0 end
local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, tonumber(first[2]) + window - now)
end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return 0
`,
}

/** Takes back a jump. KEYS: 1 times of jumps. ARGV: 1 the member that COUNT_JUMP has added. */
export const UNDO_JUMP: ViewScript = {
  name: 'undo-jump',
  source: `return redis.call('ZREM', KEYS[1], ARGV[1])`,
}

export function jumpKeys({ jumps, recent }: UserKeys): string[] {
  return [jumps, recent]
}

/** Returns the arguments of COUNT_JUMP. */
export function jumpArguments(now: number, member: string, isFirstPlace: boolean): (string | number)[] {
  return [now, WINDOW_MS, MAX_JUMPS, member, isFirstPlace ? 1 : 0]
}

/** Returns the fields that the body of every 429 has. `retry_after` is in whole seconds, as for Retry-After. */
export function jumpRefusal(waitMs: number) {
  return { limit: MAX_JUMPS, window: `${WINDOW_MS / MS_PER_SECOND}s`, retry_after: Math.ceil(waitMs / MS_PER_SECOND) }
}
