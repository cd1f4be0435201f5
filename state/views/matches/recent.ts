import type { FieldVersion, ViewOperation, ViewScript } from '../view.ts'

/**
 * Recent events of a user that the API has noted and the view does not include yet: swipes, blocks, ended matches, and
 * the user's location. Functions that show users to each other read these events, so that a user who was swiped or
 * hidden is not shown again.
 *
 * | field | value |
 * |---|---|
 * | `s:<user_id>` | newest swipe on another user: time, id and direction, separated by spaces |
 * | `last` | newest of all swipes: time, id, direction, target and, for a rewind, the direction of the swipe that was taken back; separated by spaces |
 * | `x:<user_id>:<cause>` | time of a block, of its end, or of the end of the match; then a space, and `1` if the other user must not be shown, otherwise `0` |
 * | `m:<user_id>` | time at which the answer to a swipe announced a match, until the view includes the match |
 * | `place` | latitude, longitude and time, separated by spaces |
 * | `active` | time at which a feed request was last reported as activity |
 * | `left` | time at which the user deleted their profile; earlier events of the user are no longer noted |
 *
 * A sink removes the swipes that the view includes. The API may note a swipe after the sink has applied it, so a field
 * can be older than the view. Such a field has an effect only for a short time: a newer field for the same target
 * replaces it, or the sink removes it because it is not newer than the view. The whole hash expires two days after its
 * last change, because outages are expected to be shorter. The hash of an active user may never expire. Therefore, when
 * the API adds a field about a block or an ended match, it removes all `x:` and `m:` fields that are at least two days
 * older than the new field.
 *
 * When a user deletes their profile, all earlier swipes, blocks and ends of matches by this user lose their effect. The
 * sink removes the notes from the user's own hash. It marks the notes in the hashes of other users as lifted once it
 * has received the changed pairs. Blocks by other users remain, and so do notes from after the deletion. An API process
 * may note an older decision later, but such a note never replaces a newer note.
 */
export interface Recent {
  /** The newest swipe on each target. */
  readonly swipes: ReadonlyMap<string, RecentSwipe>
  readonly last: RecentSwipe | undefined
  /** Users who must not be shown to this user, and why. */
  readonly severed: ReadonlyMap<string, Cause>
  /** Times at which answers to swipes announced a match, epoch ms. The keys are the ids of the other users. */
  readonly matched: ReadonlyMap<string, number>
  readonly place: { readonly lat: number; readonly lon: number; readonly at: number } | undefined
  /** Time at which a feed request was last reported as activity, epoch ms; undefined if there is none. */
  readonly activeAt: number | undefined
}

export interface RecentSwipe {
  readonly swipeId: string
  readonly targetId: string
  /** LEFT, RIGHT, SUPER_LIKE or REWIND. */
  readonly direction: string
  /** Epoch ms. */
  readonly at: number
  /** The direction of the swipe that a rewind has taken back; undefined if it is unknown. */
  readonly undone?: string | undefined
}

/**
 * Why a user may not see another user: the user blocks the other user, the other user blocks this user, or their match
 * has ended. The causes are independent: when one user lifts a block, a block by the other user remains.
 */
export type Cause = 'blocks' | 'blocked' | 'ended'

export const RECENT_KEPT_MS = 48 * 3_600_000
const MS_PER_SECOND = 1_000
/**
 * Number of fields at which a user's recent events are full. Swipes on further users are then not noted; see
 * docs/services/matches.md#recent.
 */
export const MAX_RECENT_FIELDS = 10_000
const SWIPE = 's:'
export const LAST_SWIPE = 'last'
const SEVERED = 'x:'
const MATCHED = 'm:'
const PLACE = 'place'
const ACTIVE = 'active'
/** Name of the field with the time at which the user deleted their profile. */
export const LEFT = 'left'
/** Suffix of a field's value when its cause no longer hides the users from each other. */
export const LIFTED = ' 0'
const CAUSES: readonly Cause[] = ['blocks', 'blocked', 'ended']
/** Suffix of the names of fields for blocks by other users. */
const BY_OTHERS = ':blocked' satisfies `:${Cause}`

/**
 * Writes fields of the recent events whose values end with their time. If the events are full, existing fields are
 * updated but no new fields are added. A value from before the user deleted their profile is not written, because
 * nothing would remove it. KEYS: 1 the hash. ARGV: 1 time to live in ms, 2 maximum number of fields, then fields and
 * values.
 */
export const NOTE_RECENT: ViewScript = {
  name: 'note-recent',
  source: `
local left = tonumber(redis.call('HGET', KEYS[1], '${LEFT}') or -1)
for at = 3, #ARGV, 2 do
  local hasRoom = redis.call('HLEN', KEYS[1]) < tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[1], ARGV[at]) == 1
  if hasRoom and tonumber(string.match(ARGV[at + 1], '%d+$')) > left then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`,
}

/**
 * Stores a note about whether two users may see each other. A block and its lifting may be noted in any order, so the
 * newer decision is kept. The limit on the number of fields does not apply, because a user whose recent events are full
 * must still be able to block. Decisions from before the user deleted their profile are not noted, except for blocks by
 * other users. The value is the time of the decision, a space, and 1 if the users may not see each other or 0 if they
 * may.
 *
 * When a field is added, all `x:` and `m:` fields that are older than the new field by at least the time to live are
 * removed. Values that earlier versions of the software wrote contain no time, so they remain.
 *
 * KEYS: 1 the hash. ARGV: 1 time to live in ms, 2 field, 3 time of the decision, 4 `1` if they may not see each other,
 * otherwise `0`.
 */
export const NOTE_SEVERED: ViewScript = {
  name: 'note-severed',
  source: `
local at = tonumber(ARGV[3])
local held, left = unpack(redis.call('HMGET', KEYS[1], ARGV[2], '${LEFT}'))
if held and tonumber(string.match(held, '^%d+')) > at then return 0 end
if left and tonumber(left) >= at and not string.find(ARGV[2], '${BY_OTHERS}', -#'${BY_OTHERS}', true) then return 0 end
if not held then
  local fields = redis.call('HGETALL', KEYS[1])
  for index = 1, #fields, 2 do
    local kind, value = string.sub(fields[index], 1, 2), fields[index + 1]
    local time = (kind == '${SEVERED}' and string.match(value, '^(%d+) ')) or (kind == '${MATCHED}' and string.match(value, '^%d+'))
    if time and tonumber(time) <= at - tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], fields[index]) end
  end
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`,
}

/**
 * Returns the arguments of NOTE_SEVERED.
 * @param at time of the decision, epoch ms
 */
export function severedArguments(field: string, at: number, isSevered: boolean): (string | number)[] {
  return [RECENT_KEPT_MS, field, at, isSevered ? '1' : '0']
}

/**
 * Returns whether a note hides the two users from each other.
 * @param value the value of a field from `severedField`; null if there is no such field
 */
export function isSeveredNote(value: string | null): boolean {
  return value !== null && !value.endsWith(LIFTED)
}

/**
 * Returns the newest version of a note that a sink removes. Notes about later decisions have newer versions and remain.
 * @param at time up to which the view includes all decisions, epoch ms
 */
export function severedVersion(at: number): FieldVersion {
  return { number: at, text: '1' }
}

/**
 * Returns the time of the decision, epoch ms; 0 if there is none.
 * @param value as for `isSeveredNote`
 */
export function severedNoteTime(value: string | null): number {
  return value === null ? 0 : Number.parseInt(value, 10)
}

/** A note that a user blocks another user, or has lifted the block. */
export interface BlockNote {
  readonly otherId: string
  /** Time of the decision, epoch ms. */
  readonly at: number
  readonly isBlocked: boolean
}

/** Returns the notes about blocks by the user to whom the recent events belong. */
export function blockNotes(fields: Readonly<Record<string, string>>): BlockNote[] {
  return Object.entries(fields).flatMap(([field, value]) => {
    const [, otherId, cause] = field.split(':')
    if (!field.startsWith(SEVERED) || (cause as Cause) !== 'blocks') return []
    return [{ otherId, at: severedNoteTime(value), isBlocked: isSeveredNote(value) }]
  })
}

/** Returns the arguments of NOTE_RECENT. */
export function noteArguments(fields: Readonly<Record<string, string>>): (string | number)[] {
  return [RECENT_KEPT_MS, MAX_RECENT_FIELDS, ...Object.entries(fields).flat()]
}

/** Returns the name of the field for the newest swipe on a user. */
export function swipeField(targetId: string): string {
  return SWIPE + targetId
}

/**
 * Returns the version of a swipe's field. A sink that has applied the swipe removes the field if it has this version or
 * an older one.
 */
export function swipeVersion(at: number, swipeId: string): FieldVersion {
  return { number: at, text: swipeId }
}

export function severedField(otherId: string, cause: Cause): string {
  return `${SEVERED}${otherId}:${cause}`
}

/**
 * Returns the operations for a user who deletes their profile. They remove all notes of the user, except for blocks by
 * other users and for actions of a new profile, and note the time of the deletion. The location is always removed,
 * because its note does not begin with its time. This does no harm, because the view soon includes the location of a
 * new profile.
 */
export function leavingOperations(key: string, deletedAt: number, now: number): ViewOperation[] {
  return [{ op: 'hkeep', key, suffix: BY_OTHERS, number: deletedAt }, ...noted(key, LEFT, deletedAt, String(deletedAt), now)]
}

/**
 * Returns the operations that make a cause ineffective if it began at or before `until`, even if the API notes the
 * cause only later.
 */
export function liftingOperations(key: string, field: string, until: number, now: number): ViewOperation[] {
  return noted(key, field, until, `${until}${LIFTED}`, now)
}

/**
 * Returns the operations that write a field and extend the life of the hash. Returns none if the time `number` is at
 * least RECENT_KEPT_MS ago, because no API process still notes events from before such a time. When the view is
 * rebuilt, most records are that old.
 */
function noted(key: string, field: string, number: number, value: string, now: number): ViewOperation[] {
  if (now - number >= RECENT_KEPT_MS) return []
  return [
    { op: 'hsetFrom', key, field, number, value },
    { op: 'expire', key, seconds: RECENT_KEPT_MS / MS_PER_SECOND },
  ]
}

/** Returns the names of all fields that can hide another user. */
export function severedFields(otherId: string): string[] {
  return CAUSES.map((cause) => severedField(otherId, cause))
}

export function matchedField(otherId: string, at: number): Record<string, string> {
  return { [MATCHED + otherId]: String(at) }
}

/** Returns the name of the field that `matchedField` sets. */
export function matchedFieldName(otherId: string): string {
  return MATCHED + otherId
}

export function placeField({ lat, lon }: { readonly lat: number; readonly lon: number }, at: number): Record<string, string> {
  return { [PLACE]: `${lat} ${lon} ${at}` }
}

/** Name of the field that `placeField` sets. */
export const PLACE_FIELD = PLACE
export const ACTIVE_FIELD = ACTIVE

/** @param at epoch ms */
export function activeField(at: number): Record<string, string> {
  return { [ACTIVE]: String(at) }
}

/** @param value of the field `last` */
export function parseLastSwipe(value: string): RecentSwipe {
  const [at, swipeId, direction, targetId, undone] = value.split(' ')
  return { swipeId, targetId, direction, at: Number(at), undone: undone || undefined }
}

/** @param value of the field `place` */
export function parsePlace(value: string): Recent['place'] {
  const [lat, lon, at] = value.split(' ').map(Number)
  return { lat, lon, at }
}

export function parseRecent(fields: Readonly<Record<string, string>>): Recent {
  const swipes = new Map<string, RecentSwipe>()
  const severed = new Map<string, Cause>()
  const matched = new Map<string, number>()
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith(SWIPE)) {
      const targetId = field.slice(SWIPE.length)
      swipes.set(targetId, { ...parseLastSwipe(value), targetId })
    } else if (field.startsWith(SEVERED)) {
      const [, otherId, cause] = field.split(':')
      if (isSeveredNote(value)) severed.set(otherId, cause as Cause)
    } else if (field.startsWith(MATCHED)) matched.set(field.slice(MATCHED.length), Number(value))
  }
  const last = fields[LAST_SWIPE] as string | undefined
  const place = fields[PLACE] as string | undefined
  const active = fields[ACTIVE] as string | undefined
  return {
    swipes,
    last: last === undefined ? undefined : parseLastSwipe(last),
    severed,
    matched,
    place: place === undefined ? undefined : parsePlace(place),
    activeAt: active === undefined ? undefined : Number(active),
  }
}

/** Returns the recent events as if these swipes were already stored. */
export function withSwipes<R extends Pick<Recent, 'last'> & Partial<Pick<Recent, 'swipes'>>>(recent: R, added: readonly RecentSwipe[]): R {
  if (added.length === 0) return recent
  const swipes = new Map(recent.swipes)
  let { last } = recent
  for (const swipe of added) {
    const known = swipes.get(swipe.targetId)
    if (known === undefined || known.at < swipe.at) swipes.set(swipe.targetId, swipe)
    if (last === undefined || last.at < swipe.at) last = swipe
  }
  return { ...recent, last, ...(recent.swipes !== undefined && { swipes }) }
}
