import type { ViewScript } from '../view.ts'
import { recentSwipe } from './users.ts'

/**
 * What the API knows of a user and the view does not include yet: swipes, blocks, ended matches, and the place. Every
 * function that shows people to each other asks it, so that nobody sees somebody again whom they have just swiped.
 *
 * | field | value |
 * |---|---|
 * | `s:<swipe_id>` | target, direction and time of a swipe, with spaces between |
 * | `x:<user_id>` | the other user may not be seen: a block, or the end of a match |
 * | `m:<user_id>` | time at which a swipe was answered with a match with the other user |
 * | `place` | latitude, longitude and time, with spaces between |
 *
 * A sink removes the swipes that the view includes. The whole hash goes two days after its last change, because that is
 * longer than an outage.
 */
export interface Recent {
  readonly swipes: readonly RecentSwipe[]
  /** Users who may not be seen. */
  readonly severed: ReadonlySet<string>
  /** Times of answered matches, epoch ms, by the other user. */
  readonly matched: ReadonlyMap<string, number>
  readonly place: { readonly lat: number; readonly lon: number; readonly at: number } | undefined
}

export interface RecentSwipe {
  readonly swipeId: string
  readonly targetId: string
  /** LEFT, RIGHT, SUPER_LIKE or REWIND. */
  readonly direction: string
  /** Epoch ms. */
  readonly at: number
}

const KEPT_MS = 48 * 3_600_000
/** Beyond this many fields, further ones are not stored: docs/services/matches.md#recent */
const MAX_FIELDS = 10_000
const SEVERED = 'x:'
const MATCHED = 'm:'
const PLACE = 'place'
const SWIPE = recentSwipe('')

/** KEYS: 1 the hash. ARGV: 1 time to live in ms, 2 maximum number of fields, then fields and values. */
export const NOTE_RECENT: ViewScript = {
  name: 'note-recent',
  source: `
for at = 3, #ARGV, 2 do
  if redis.call('HLEN', KEYS[1]) < tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[1], ARGV[at]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`,
}

/** KEYS: 1 the hash. ARGV: fields to remove. */
export const FORGET_RECENT: ViewScript = { name: 'forget-recent', source: `return redis.call('HDEL', KEYS[1], unpack(ARGV))` }

/** Arguments of NOTE_RECENT. */
export function noteArguments(fields: Readonly<Record<string, string>>): (string | number)[] {
  return [KEPT_MS, MAX_FIELDS, ...Object.entries(fields).flat()]
}

export function swipeField({ swipeId, targetId, direction, at }: RecentSwipe): Record<string, string> {
  return { [recentSwipe(swipeId)]: `${targetId} ${direction} ${at}` }
}

export function severedField(otherId: string): string {
  return SEVERED + otherId
}

export function matchedField(otherId: string, at: number): Record<string, string> {
  return { [MATCHED + otherId]: String(at) }
}

export function placeField({ lat, lon }: { readonly lat: number; readonly lon: number }, at: number): Record<string, string> {
  return { [PLACE]: `${lat} ${lon} ${at}` }
}

export function parseRecent(fields: Readonly<Record<string, string>>): Recent {
  const swipes: RecentSwipe[] = []
  const severed = new Set<string>()
  const matched = new Map<string, number>()
  let place: Recent['place']
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith(SWIPE)) {
      const [targetId, direction, at] = value.split(' ')
      swipes.push({ swipeId: field.slice(SWIPE.length), targetId, direction, at: Number(at) })
    } else if (field.startsWith(SEVERED)) severed.add(field.slice(SEVERED.length))
    else if (field.startsWith(MATCHED)) matched.set(field.slice(MATCHED.length), Number(value))
    else if (field === PLACE) {
      const [lat, lon, at] = value.split(' ').map(Number)
      place = { lat, lon, at }
    }
  }
  return { swipes: swipes.sort((a, b) => a.at - b.at), severed, matched, place }
}
