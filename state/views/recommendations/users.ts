import { parseUserFeaturesKey } from '../../../schemas/recommendations/events/user-keys.ts'
import type { UserFeatures, UserSelf } from '../../../schemas/recommendations/types.ts'
import { type BinaryReader, type NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Features of users. Fed by `user-features` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{user-features:<p>}:self:<user>` | hash: JSON of small fields at `facts`, bytes at `viewed`, `session`, `history`, `hidden`, `shown` |
 * | `{user-features:<p>}:seen:<user>` | hash: page number → bytes of that page of the watched items |
 */
const USER_FEATURES_VIEW = 'user-features'

const LISTS = ['viewed', 'session', 'history', 'hidden', 'shown'] as const
const FACTS = 'facts'

export const userFeaturesView: View<string, UserFeatures> = {
  name: USER_FEATURES_VIEW,
  operationsFor(partition, key, value) {
    const parsed = parseUserFeaturesKey(key)
    const keys = userFeaturesKeys(partition, parsed.userId)
    return parsed.kind === 'self' ? selfOperations(keys.self, value) : pageOperations(keys.seen, parsed.page, value)
  },
}

function selfOperations(key: string, value: UserFeatures | null): ViewOperation[] {
  if (value === null || value.self === null) return [{ op: 'del', key }]
  const { viewed, session, history, hidden, shown, ...facts } = value.self
  const lists = { viewed, session, history, hidden, shown }
  const bytes = Object.fromEntries(LISTS.map((name) => [name, Buffer.from(lists[name])]))
  return [{ op: 'hset', key, fields: { [FACTS]: JSON.stringify(facts), ...bytes } }]
}

function pageOperations(key: string, page: number, value: UserFeatures | null): ViewOperation[] {
  if (value === null || value.page === null) return [{ op: 'hdel', key, field: String(page) }]
  return [{ op: 'hset', key, fields: { [page]: Buffer.from(value.page) } }]
}

/** A user's data as the view stores it. */
export interface StoredUser {
  /** Undefined: nothing is known about the user. */
  readonly self: UserSelf | undefined
  /** Pages of the set of watched items, by page number. */
  readonly pages: Readonly<Record<string, Buffer>>
}

type UserReader = Pick<BinaryReader, 'hmgetBuffer' | 'hgetallBuffer'> & ViewReader

/**
 * Reads a user with commands that are sent together. Returns NOT_CAUGHT_UP if the view is incomplete, because every
 * user would otherwise look new after Redis was emptied.
 */
export async function readUser(reader: UserReader, partition: number, userId: string): Promise<StoredUser | typeof NOT_CAUGHT_UP> {
  const keys = userFeaturesKeys(partition, userId)
  return await withCaughtUp(reader, USER_FEATURES_VIEW, partition, readKeys(reader, keys))
}

async function readKeys(reader: UserReader, { self, seen }: ReturnType<typeof userFeaturesKeys>): Promise<StoredUser> {
  const [[facts, ...lists], pages] = await Promise.all([reader.hmgetBuffer(self, [FACTS, ...LISTS]), reader.hgetallBuffer(seen)])
  return { self: facts === null ? undefined : selfFrom(facts, lists), pages }
}

function selfFrom(facts: Buffer, lists: readonly (Buffer | null)[]): UserSelf {
  const bytes = Object.fromEntries(LISTS.map((name, index) => [name, lists[index] ?? Buffer.alloc(0)]))
  return { ...JSON.parse(facts.toString()), ...bytes } as UserSelf
}

function userFeaturesKeys(partition: number, userId: string) {
  const tag = viewTag(USER_FEATURES_VIEW, partition)
  return { self: `${tag}:self:${userId}`, seen: `${tag}:seen:${userId}` }
}
