import type { Decision } from '../../../schemas/commands/topics.ts'
import { parseUserKey } from '../../../schemas/matches/keys.ts'
import type { MatchProfile, MatchRelation, MatchSeen } from '../../../schemas/matches/types.ts'
import { ROLL_KEY } from '../../stores/keyed-store.ts'
import { decisionView } from '../results.ts'
import { caughtUpKey, type View, type ViewContext, type ViewOperation, viewTag } from '../view.ts'
import {
  type Cause,
  leavingOperations,
  liftingOperations,
  matchedFieldName,
  severedField,
  severedVersion,
  swipeField,
  swipeVersion,
} from './recent.ts'
import { likeScore, MAX_KEPT_LIKES, matchScore, storedRelation } from './relation.ts'

/**
 * All data about a user that the API reads. The keys from `profile` to `blocks` contain data from the topics
 * `match-profiles`, `match-seen` and `match-relations`. The API writes the other keys, and the sink also changes
 * `recent`. The topics have the same partitioning, so that all keys of a user share a hash tag and one script can use
 * them. The view also contains results of commands; see ../results.ts.
 *
 * | key | value |
 * |---|---|
 * | `{match-profiles:<p>}:profile:<user>` | JSON of the profile; no key means that there is none |
 * | `{match-profiles:<p>}:self:<user>` | JSON of a MatchSelf: score, location, activity, rewound targets, last swipe |
 * | `{match-profiles:<p>}:seen:<user>` | hash: page number → bytes of that page of the seen-set |
 * | `{match-profiles:<p>}:relations:<user>` | hash: matches and blocks by the other user's id: see relation.ts |
 * | `{match-profiles:<p>}:likes:<user>` | sorted set: the newest users who like the user and have no entry in `relations`, by time: see relation.ts |
 * | `{match-profiles:<p>}:matches:<user>` | sorted set: users with matches, by time; the score is negative if the match ended or one user blocks the other |
 * | `{match-profiles:<p>}:blocks:<user>` | sorted set: users whom the user blocks, by time |
 * | `{match-profiles:<p>}:recent:<user>` | hash: events that the API has noted and the view does not include yet: see recent.ts |
 * | `{match-profiles:<p>}:stack:<user>` | hash: the candidates found last: see stack.ts |
 * | `{match-profiles:<p>}:building:<user>` | token of the running search: see build.ts |
 * | `{match-profiles:<p>}:refill:<user>` | exists while no further refill may be requested: see take-swipe.ts |
 * | `{match-profiles:<p>}:resume:<user>` | JSON of the position from which the next search continues: see build.ts |
 * | `{match-profiles:<p>}:jumps:<user>` | sorted set: times of moves over more than a kilometre: see jumps.ts |
 *
 * Other users decide how long `relations` and `likes` are. Readers therefore look up the users whom they need, or read
 * a list up to a limit, and never read these keys as a whole.
 */
export const MATCH_USERS_VIEW = 'match-profiles@2'

type UserRecord = Decision<MatchProfile> | MatchSeen | MatchRelation

/** The part of a recent-events key between the hash tag and the user id. */
const RECENT_PART = '}:recent:'

export const matchUsersView: View<string, UserRecord> = {
  name: MATCH_USERS_VIEW,
  operationsFor,
  // These keys survive a rebuild. After Redis is emptied, the API may note recent events for hours before the sink can
  // rebuild the view.
  keeps: (key) => key.includes(RECENT_PART),
}

const profilesView = decisionView<MatchProfile>({ name: MATCH_USERS_VIEW, operationsFor: profileOperations })

/**
 * Returns the operations for a record. The format of the key shows which of the three topics the record comes from,
 * even if it is a tombstone.
 */
function operationsFor(partition: number, key: string, value: UserRecord | null, context?: ViewContext): ViewOperation[] {
  if (key === ROLL_KEY) return []
  const parsed = parseUserKey(key)
  if (parsed === undefined) return profilesView.operationsFor(partition, key, value as Decision<MatchProfile> | null, context)
  const keys = userKeys(partition, parsed.userId)
  switch (parsed.kind) {
    case 'self':
      return selfOperations(keys, value as MatchSeen | null)
    case 'page':
      return pageOperations(keys, parsed.page, value as MatchSeen | null)
    case 'relation':
      return relationOperations(keys, parsed.otherId, value as MatchRelation | null, context?.now ?? 0)
  }
}

/**
 * Returns the operations for a profile. A deletion removes the profile and most of what the API stores about the user.
 * Relations, the seen-set and `self` are removed by tombstones in their own topics. If the deletion removed this data
 * too, it could also remove data of a new profile, because a rebuild of the view reads the topics in any order.
 */
function profileOperations(partition: number, userId: string, profile: MatchProfile | null, context?: ViewContext): ViewOperation[] {
  const keys = userKeys(partition, userId)
  if (profile !== null && profile.deleted_at === null) return [{ op: 'set', key: keys.profile, value: JSON.stringify(profile) }]
  const left = leavingOperations(keys.recent, profile?.deleted_at ?? 0, context?.now ?? 0)
  return [...[keys.profile, ...notedKeys(keys)].map((key): ViewOperation => ({ op: 'del', key })), ...left]
}

/**
 * Returns the keys of the data that the API writes and that is deleted together with the profile. Recent events are not
 * included, because some of them remain. The times of jumps are not included either. They expire within an hour, and if
 * they were deleted, a user could evade the limit on jumps by deleting and recreating the profile.
 */
function notedKeys({ stack, building, refill, resume }: UserKeys): string[] {
  return [stack, building, refill, resume]
}

function selfOperations(keys: UserKeys, value: MatchSeen | null): ViewOperation[] {
  if (value === null || value.self === null) return [{ op: 'del', key: keys.self }]
  return [{ op: 'set', key: keys.self, value: JSON.stringify(value.self) }, ...included(keys, value)]
}

function pageOperations(keys: UserKeys, page: number, value: MatchSeen | null): ViewOperation[] {
  if (value === null || value.page === null) return [{ op: 'hdel', key: keys.seen, field: String(page) }]
  return [{ op: 'hset', key: keys.seen, fields: { [page]: Buffer.from(value.page) } }, ...included(keys, value)]
}

/** Returns the operations that remove swipes from the recent events, because the user's record now includes them. */
function included(keys: UserKeys, { swipes }: MatchSeen): ViewOperation[] {
  return swipes.map(({ target_id, swipe_id, ts }) => {
    return { op: 'hdelUpTo', key: keys.recent, field: swipeField(target_id), upTo: swipeVersion(ts, swipe_id) }
  })
}

function relationOperations(keys: UserKeys, otherId: string, relation: MatchRelation | null, now: number): ViewOperation[] {
  const blockedAt = relation?.blocked_at ?? null
  const stored = relation && storedRelation(relation)
  return [
    stored === null
      ? { op: 'hdel', key: keys.relations, field: otherId }
      : { op: 'hset', key: keys.relations, fields: { [otherId]: stored } },
    listed(keys.likes, otherId, relation && likeScore(relation), MAX_KEPT_LIKES),
    listed(keys.matches, otherId, relation && matchScore(relation)),
    listed(keys.blocks, otherId, blockedAt),
    ...(relation?.match_id == null ? [] : [{ op: 'hdel', key: keys.recent, field: matchedFieldName(otherId) } as const]),
    ...(relation === null ? [] : includedCauses(keys, otherId, relation)),
    ...lifted(keys, severedField(otherId, 'blocked'), relation?.unblocked_until ?? null, now),
    ...lifted(keys, severedField(otherId, 'blocks'), relation?.released_until ?? null, now),
    ...lifted(keys, severedField(otherId, 'ended'), relation?.reopened_until ?? null, now),
  ]
}

/**
 * Returns the operations that remove notes about blocks and an ended match, because the relation now includes them. A
 * note about a later decision remains.
 */
function includedCauses({ recent }: UserKeys, otherId: string, relation: MatchRelation): ViewOperation[] {
  const { blocks, is_blocked, has_ended, blocked_at, changed_at } = relation
  const causes: [Cause, boolean, number][] = [
    ['blocks', blocks, blocked_at ?? changed_at],
    ['blocked', is_blocked, changed_at],
    ['ended', has_ended, changed_at],
  ]
  return causes.flatMap(([cause, isIncluded, at]): ViewOperation[] =>
    isIncluded ? [{ op: 'hdelUpTo', key: recent, field: severedField(otherId, cause), upTo: severedVersion(at) }] : [],
  )
}

/** Returns the operations that lift a cause in the recent events; none if the cause was never lifted. */
function lifted({ recent }: UserKeys, field: string, until: number | null, now: number): ViewOperation[] {
  return until === null ? [] : liftingOperations(recent, field, until, now)
}

function listed(key: string, member: string, score: number | null, newest?: number): ViewOperation {
  return score === null ? { op: 'zrem', key, member } : { op: 'zadd', key, score, member, ...(newest !== undefined && { newest }) }
}

export interface UserKeys {
  readonly profile: string
  readonly self: string
  readonly seen: string
  readonly relations: string
  readonly likes: string
  readonly matches: string
  readonly blocks: string
  readonly recent: string
  readonly stack: string
  readonly building: string
  readonly refill: string
  readonly resume: string
  readonly jumps: string
  /** The caught-up flag of the partition, which all users in the partition share. */
  readonly caughtUp: string
}

export function userKeys(partition: number, userId: string): UserKeys {
  const tag = viewTag(MATCH_USERS_VIEW, partition)
  const of = (kind: string) => `${tag}:${kind}:${userId}`
  return {
    profile: of('profile'),
    self: of('self'),
    seen: of('seen'),
    relations: of('relations'),
    likes: of('likes'),
    matches: of('matches'),
    blocks: of('blocks'),
    recent: of('recent'),
    stack: of('stack'),
    building: of('building'),
    refill: of('refill'),
    resume: of('resume'),
    jumps: of('jumps'),
    caughtUp: caughtUpKey(MATCH_USERS_VIEW, partition),
  }
}
