import { conversationIdOf, matchIdOf } from '../../../schemas/matches/pair.ts'
import { type Cause, severedField } from '../../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW, matchUsersView, userKeys } from '../../../state/views/matches/users.ts'
import { exclusionsOf, readList, readRelations, readUser } from '../../../state/views/matches/viewer.ts'
import { caughtUpKey, NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import type { Lists } from './evidence.ts'

type Value = Parameters<typeof matchUsersView.operationsFor>[2]

/** A block, the lifting of a block, or the end of a match, from the perspective of one user. */
export interface Severance {
  readonly otherId: string
  readonly cause: Cause
  /** Time of the decision, epoch ms. */
  readonly at: number
  readonly isSevered: boolean
}

/**
 * An in-memory model of the user view: the data that Redis would contain, and the lists that the API would derive from
 * it.
 */
export interface MemoryView {
  apply(partition: number, key: string, value: Value): void
  /** Stores a note that the API writes when one user may no longer see another user, or may see them again. */
  note(partition: number, userId: string, severance: Severance): void
  listsOf(userId: string, users: readonly string[], partitionOf: (userId: string) => number): Promise<Lists | undefined>
  /** Returns the keys of all string values, and of all hashes that are not empty. */
  keys(): string[]
}

export function memoryView(partitions: number): MemoryView {
  const texts = new Map<string, string>()
  const hashes = new Map<string, Map<string, string | Buffer>>()
  const sets = new Map<string, Map<string, number>>()
  for (let partition = 0; partition < partitions; partition++) texts.set(caughtUpKey(MATCH_USERS_VIEW, partition), '1')
  const hash = (key: string) => hashes.get(key) ?? hashes.set(key, new Map()).get(key)!
  const set = (key: string) => sets.get(key) ?? sets.set(key, new Map()).get(key)!

  const fieldsOf = (key: string) => Object.fromEntries(hash(key))
  // biome-ignore lint/suspicious/noExplicitAny: implements only the commands that the reader needs
  const reader: any = {
    get: async (key: string) => texts.get(key) ?? null,
    hgetall: async (key: string) => fieldsOf(key),
    hgetallBuffer: async (key: string) => fieldsOf(key),
    hmget: async (key: string, fields: readonly string[]) => fields.map((field) => hash(key).get(field) ?? null),
    zmscore: async (key: string, members: readonly string[]) => members.map((member) => set(key).get(member) ?? null),
    zrevrangeWithScores: async (key: string) => [...set(key)].map(([member, score]) => ({ member, score })),
  }

  return {
    apply(partition, key, value) {
      for (const operation of matchUsersView.operationsFor(partition, key, value)) {
        switch (operation.op) {
          case 'set':
            texts.set(operation.key, String(operation.value))
            break
          case 'del':
            for (const kind of [texts, hashes, sets]) kind.delete(operation.key)
            break
          case 'hset':
            for (const [field, text] of Object.entries(operation.fields)) hash(operation.key).set(field, text)
            break
          case 'hdel':
            hash(operation.key).delete(operation.field)
            break
          case 'hdelUpTo':
            if (timeOf(hash(operation.key).get(operation.field)) <= operation.upTo.number) hash(operation.key).delete(operation.field)
            break
          case 'hsetFrom':
            if (!(timeOf(hash(operation.key).get(operation.field)) > operation.number))
              hash(operation.key).set(operation.field, operation.value)
            break
          case 'hkeep': {
            const { key: kept, suffix, number } = operation
            for (const [field, text] of hash(kept)) if (!field.endsWith(suffix) && !(timeOf(text) > number)) hash(kept).delete(field)
            break
          }
          case 'zadd':
            set(operation.key).set(operation.member, operation.score)
            break
          case 'zrem':
            set(operation.key).delete(operation.member)
            break
          default:
            // The remaining operations let keys expire and publish command results. This test needs neither.
            break
        }
      }
    },
    note(partition, userId, { otherId, cause, at, isSevered: mayNotSee }) {
      const recent = hash(userKeys(partition, userId).recent)
      const field = severedField(otherId, cause)
      const isFromBefore = cause !== 'blocked' && timeOf(recent.get('left')) >= at
      if (!isFromBefore && !(timeOf(recent.get(field)) > at)) recent.set(field, `${at} ${mayNotSee ? 1 : 0}`)
    },
    async listsOf(userId, users, partitionOf) {
      const keys = userKeys(partitionOf(userId), userId)
      const state = await readUser(reader, partitionOf(userId), userId)
      if (state === undefined || state === NOT_CAUGHT_UP) return undefined
      const others = users.filter((other) => other !== userId && texts.has(userKeys(partitionOf(other), other).profile))
      const [relations, matches, likes] = await Promise.all([
        readRelations(reader, keys, others),
        readList(reader, keys, 'matches', 0, users.length),
        readList(reader, keys, 'likes', 0, users.length),
      ])
      if (relations === NOT_CAUGHT_UP || matches === NOT_CAUGHT_UP || likes === NOT_CAUGHT_UP) return undefined
      const exclusion = exclusionsOf(state, Date.now())
      const isShown = (other: string) => exclusion(other, relations.get(other)) === undefined
      const matched = matches.filter(({ member, score }) => score > 0 && others.includes(member) && !state.recent.severed.has(member))
      return {
        matches: matched.map(({ member: other }) => {
          return { match_id: matchIdOf(userId, other), conversation_id: conversationIdOf(userId, other), user_id: other }
        }),
        likes: likes.map(({ member }) => member).filter((other) => others.includes(other) && isShown(other)),
        blocks: [...set(keys.blocks).keys()],
        feed: others.filter(isShown),
      }
    },
    keys: () => [...texts.keys(), ...[...hashes].flatMap(([key, fields]) => (fields.size > 0 ? [key] : []))],
  }
}

/** Returns the time with which a value begins. Returns NaN if there is no value, so that all comparisons are false. */
function timeOf(value: string | Buffer | undefined): number {
  return Number.parseInt(String(value), 10)
}
