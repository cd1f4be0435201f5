import { readableJson } from '../readable.ts'
import type { ViewScript } from '../view.ts'
import { cellOf, geohashOf, type Place } from './candidates/cells.ts'
import type { Viewer } from './candidates/person.ts'
import type { Ranked } from './candidates/ranking.ts'
import { LIFTED } from './recent.ts'
import { RELATION_FUNCTIONS } from './relation.ts'
import type { UserKeys } from './users.ts'

/**
 * The candidates that a search found, stored so that the next feed does not need to search again. Every candidate is
 * checked again when it is served, so a kept stack never shows a user whom the viewer has swiped or may not see.
 *
 * A stack is a hash, so that a swipe removes its target without reading the other candidates. The field `meta` contains
 * `builtAt` and `basis` as JSON. Each candidate's id is the name of a field. Its value consists of the rank, score,
 * latitude and longitude, separated by spaces.
 */
export interface Stack {
  /** Epoch ms. */
  readonly builtAt: number
  /** The values on which the search depended; see `basisOf`. */
  readonly basis: string
  /** Best first. */
  readonly candidates: readonly StackedCandidate[]
}

export interface StackedCandidate {
  readonly userId: string
  readonly place: Place
  readonly score: number
}

/** How long a stack is valid: docs/services/matches.md#feed */
export const STACK_TTL_MS = 300_000
/**
 * How long a stack that has no candidate to show is kept before the search is repeated. The time is short, so that the
 * first user in an area soon sees the second user.
 */
const EMPTY_TTL_MS = 5_000
/**
 * A stack with fewer remaining candidates than this number, but at least one, is built again, at most once per
 * `REFILL_EVERY_MS`.
 */
export const REFILL_BELOW = 5
export const REFILL_EVERY_MS = 30_000
const BASIS_PRECISION = 6
const META = 'meta'

/**
 * Stores a stack without the candidates whom the user has swiped since the search began, or may no longer see, and
 * releases the lock. Stores nothing if the caller no longer holds the lock, because the lock has expired or a rewind
 * has removed it (see `TAKE_REWIND`).
 *
 * KEYS: 1 the stack, 2 the recent events, 3 the lock of the search, 4 the position from which the next search
 * continues, 5 the user's relations, which include the blocks and ended matches that the sink has removed from the
 * recent events.
 * ARGV: 1 the lock's token, 2 time to live in ms, 3 meta, 4 the position as JSON or an empty string, 5 its time to live
 * in ms, then ids and values of candidates.
 * Returns the ids of the candidates who are left out, even if nothing is stored.
 */
export const STORE_STACK: ViewScript = {
  name: 'store-stack',
  source: `${RELATION_FUNCTIONS}
local isOwner = redis.call('GET', KEYS[3]) == ARGV[1]
local function severs(note) return note and string.sub(note, -2) ~= '${LIFTED}' end
if isOwner then
  redis.call('DEL', KEYS[1], KEYS[3])
  redis.call('HSET', KEYS[1], '${META}', ARGV[3])
end
local leftOut = {}
for at = 6, #ARGV, 2 do
  local id = ARGV[at]
  local held = redis.call('HMGET', KEYS[2], 's:' .. id, 'x:' .. id .. ':blocks', 'x:' .. id .. ':blocked', 'x:' .. id .. ':ended')
  local isSwiped = held[1] and not string.find(held[1], ' REWIND', 1, true)
  local isHidden = severs(held[2]) or severs(held[3]) or severs(held[4]) or isSevered(redis.call('HGET', KEYS[5], id))
  if isSwiped or isHidden then leftOut[#leftOut + 1] = id
  elseif isOwner then redis.call('HSET', KEYS[1], id, ARGV[at + 1]) end
end
if not isOwner then return leftOut end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[4] == '' then redis.call('DEL', KEYS[4]) else redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5]) end
return leftOut
`,
}

export function storeStackKeys({ stack, recent, building, resume, relations }: UserKeys): string[] {
  return [stack, recent, building, resume, relations]
}

/** Returns the arguments of STORE_STACK that describe the stack. */
export function stackFields({ builtAt, basis, candidates }: Stack): { readonly meta: string; readonly fields: string[] } {
  const fields = candidates.flatMap(({ userId, score, place }, rank) => [userId, `${rank} ${score} ${place.lat} ${place.lon}`])
  return { meta: JSON.stringify({ builtAt, basis }), fields }
}

/**
 * Parses a stack; undefined if there is none or it cannot be parsed, so that the next feed request searches again.
 * @param fields the fields of the hash
 */
export function parseStack({ [META]: meta, ...fields }: Readonly<Record<string, string>>): Stack | undefined {
  if (meta === undefined) return undefined
  const parsed = readableJson<Pick<Stack, 'builtAt' | 'basis'>>(meta)
  if (parsed === undefined) return undefined
  const { builtAt, basis } = parsed
  const ranked = Object.entries(fields).map(([userId, value]) => {
    const [rank, score, lat, lon] = value.split(' ').map(Number)
    return { rank, candidate: { userId, score, place: { lat, lon } } }
  })
  ranked.sort((a, b) => a.rank - b.rank)
  return { builtAt, basis, candidates: ranked.map(({ candidate }) => candidate) }
}

/**
 * Returns the values on which a search depends: the viewer's preferences, gender and birth date, and the cell of the
 * viewer's location.
 */
export function basisOf({ place, maxDistanceKm, minAge, maxAge, seekingGender, gender, birthDate }: Viewer): string {
  return JSON.stringify([
    geohashOf(cellOf(place, BASIS_PRECISION)),
    maxDistanceKm,
    minAge,
    maxAge,
    seekingGender,
    gender ?? null,
    birthDate,
  ])
}

export function stackOf(ranked: readonly Ranked[], basis: string, builtAt: number): Stack {
  return { basis, builtAt, candidates: ranked.map(({ candidate: { userId, place }, score }) => ({ userId, place, score })) }
}

/**
 * Returns whether a stack can be served.
 * @param remaining number of candidates that the viewer may still see
 * @param current the values on which a search would depend now; see `basisOf`
 * @param now epoch ms
 */
export function isFresh({ builtAt, basis }: Stack, remaining: number, current: string, now: number): boolean {
  const age = now - builtAt
  if (basis !== current || age >= STACK_TTL_MS) return false
  if (remaining === 0) return age < EMPTY_TTL_MS
  return remaining >= REFILL_BELOW || age < REFILL_EVERY_MS
}

/**
 * Returns the time of the next refill that a feed announces, epoch ms: `EMPTY_TTL_MS` after the search if no candidate
 * remains, `REFILL_EVERY_MS` after it if few remain, otherwise the end of the stack's validity.
 */
export function nextRefillAt({ builtAt }: Stack, remaining: number): number {
  if (remaining === 0) return builtAt + EMPTY_TTL_MS
  return builtAt + (remaining < REFILL_BELOW ? REFILL_EVERY_MS : STACK_TTL_MS)
}
