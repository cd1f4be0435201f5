import type { BoundedScripts } from '../redis/bounded-scripts.ts'
import type { RedisScript } from '../redis/run-script.ts'

/**
 * One change to a view. A sink applies the operations of a batch in order, together with the batch's offset, in one
 * atomic step. All keys of a partition share a hash tag, so a single shard of a Redis cluster executes the step.
 */
export type ViewOperation =
  | { readonly op: 'set'; readonly key: string; readonly value: ViewValue }
  /**
   * Writes the value only if `version` is greater than the stored version. The key is a hash with VERSION_FIELD and
   * VALUE_FIELD.
   */
  | { readonly op: 'setIfNewer'; readonly key: string; readonly version: number; readonly value: ViewValue }
  | { readonly op: 'del'; readonly key: string }
  | { readonly op: 'hset'; readonly key: string; readonly fields: Readonly<Record<string, ViewValue>> }
  | { readonly op: 'hdel'; readonly key: string; readonly field: string }
  /**
   * Removes a field if its value is not newer than `upTo`. The value begins with its version. Versions are compared by
   * number first.
   */
  | { readonly op: 'hdelUpTo'; readonly key: string; readonly field: string; readonly upTo: FieldVersion }
  /** Writes a field unless its current value begins with a whole number greater than `number`. */
  | { readonly op: 'hsetFrom'; readonly key: string; readonly field: string; readonly number: number; readonly value: string }
  /**
   * Removes the fields of a hash, except fields whose name ends with `suffix` and fields whose value begins with a
   * whole number greater than `number`.
   */
  | { readonly op: 'hkeep'; readonly key: string; readonly suffix: string; readonly number: number }
  /**
   * Removes items from a string that consists of rows of `rowBytes` bytes. If no row begins with the item's `start`,
   * the item was added to a counter instead. This counter is the first of the fields `item.counters` that exists in the
   * hash `counters`. The value of a counter is `<count> <sum>`. Its count is reduced by 1 and its sum by `amount`. A
   * counter with the count 0 is removed.
   */
  | {
      readonly op: 'removeRows'
      readonly key: string
      readonly rowBytes: number
      /** At least one item. */
      readonly items: readonly RowItem[]
      readonly counters: string
    }
  /**
   * Adds a member to a sorted set. Members sort by score and then by their bytes. If the set then has more than
   * `newest` members, the members with the lowest scores are removed.
   */
  | { readonly op: 'zadd'; readonly key: string; readonly score: number; readonly member: string; readonly newest?: number }
  | { readonly op: 'zrem'; readonly key: string; readonly member: string }
  | { readonly op: 'expire'; readonly key: string; readonly seconds: number }
  | { readonly op: 'publish'; readonly channel: string; readonly message: string }

/** An item of a `removeRows` operation. */
export interface RowItem {
  /** Prefix of the item's row. All prefixes have the same length. */
  readonly start: Buffer
  /** The fields of counters that may include the item, the most likely one first. */
  readonly counters: readonly string[]
  /** A whole number. */
  readonly amount: number
}

/** The version of a field of a hash. The value of the field begins with `<number> <text> `. */
export interface FieldVersion {
  /** A whole number. */
  readonly number: number
  /** Decides which version is newer if the numbers are equal. Contains no space. */
  readonly text: string
}

/** Text or bytes. Redis stores bytes as they are, so an encoding such as base64 is not needed. */
export type ViewValue = string | Buffer

/** Fields of a hash that `setIfNewer` writes. */
export const VERSION_FIELD = 'version'
export const VALUE_FIELD = 'value'

/** Defines how records change a view. */
export interface View<K, V> {
  /**
   * The name, which is also part of hash tags: `{name:partition}`. A name may end with `@` and the version of the
   * layout. Hash tags leave this suffix out. A new version has no positions, so the sinks clear the view, except for
   * the keys that it keeps, and build it again.
   */
  readonly name: string
  /** True if callers wait for the view's changes, so the sink must not delay them to form larger batches. */
  readonly isAwaited?: boolean
  /**
   * Age (ms) from which records produce no operations. When the view is built again, the sink skips the records before
   * the first one with a timestamp within this time. By default, the sink reads the whole log.
   */
  readonly neededMs?: number
  /** @param value null when the key was deleted */
  operationsFor(partition: number, key: K, value: V | null, context?: ViewContext): ViewOperation[]
  /**
   * Returns the key of a string in the view whose current value `operationsFor` needs for this record; undefined if it
   * needs none. For example, the record of a deletion does not contain the deleted data, so only the stored value shows
   * from which lists the entry must be removed.
   */
  heldKey?(partition: number, key: K, value: V | null): string | undefined
  /**
   * Returns true for a key that stays when a partition is cleared, because no record restores it. By default, no key
   * stays.
   */
  keeps?(key: string): boolean
}

export interface ViewContext {
  /** The string at `heldKey` before the record is applied; null when there is none. */
  readonly held: string | null
  /** Epoch ms. */
  readonly now: number
}

/** Returns the hash tag at the beginning of every key of a view's partition. */
export function viewTag(view: string, partition: number): string {
  return `{${withoutLayout(view)}:${partition}}`
}

/** Returns the name of a view without the version of its layout. */
export function withoutLayout(view: string): string {
  return view.slice(0, view.length - layoutOf(view).length)
}

/** Returns the version of a view's layout, beginning with `@`; empty if the name contains none. */
export function layoutOf(view: string): string {
  const at = view.indexOf('@')
  return at < 0 ? '' : view.slice(at)
}

/**
 * Returns the key of the caught-up flag. The sink sets the flag once it has read every topic of the view to its end in
 * this partition. The flag is lost when Redis is emptied.
 */
export function caughtUpKey(view: string, partition: number): string {
  return `${viewTag(view, partition)}:caught-up${layoutOf(view)}`
}

/** The commands that readers of views use. */
export interface ViewReader {
  get(key: string): Promise<string | null>
  hget(key: string, field: string): Promise<string | null>
}

/** The additional commands that readers of lists use. */
export interface ListReader {
  hmget(key: string, fields: readonly string[]): Promise<(string | null)[]>
  /** Returns the strings at keys that share a hash tag, in the order of the keys, all read at the same moment. */
  mget(keys: readonly string[]): Promise<(string | null)[]>
  zcard(key: string): Promise<number>
  /** Returns members by descending score, from `start` to `stop`, both counted from 0 and inclusive. */
  zrevrange(key: string, start: number, stop: number): Promise<string[]>
  /** Returns members by ascending score, otherwise like `zrevrange`. */
  zrange(key: string, start: number, stop: number): Promise<string[]>
  /**
   * Returns members between two bounds, in the order of their bytes, from a sorted set with equal scores. A bound
   * begins with `[` if it is inclusive and with `(` if it is exclusive; `-` and `+` are before and after all members.
   */
  zrangebylex(key: string, min: string, max: string, offset: number, count: number): Promise<string[]>
  /** Returns all fields of a hash; empty if the hash does not exist. */
  hgetall(key: string): Promise<Record<string, string>>
}

/** A member of a sorted set. */
export interface ScoredMember {
  readonly member: string
  readonly score: number
}

/** Reads the scores of sorted sets. */
export interface ScoreReader {
  /** Returns members with their scores, otherwise like `zrevrange`. */
  zrevrangeWithScores(key: string, start: number, stop: number): Promise<ScoredMember[]>
  /** Returns the scores in the order of the members; null for members that the set lacks. */
  zmscore(key: string, members: readonly string[]): Promise<(number | null)[]>
}

/** Reads values that are bytes. */
export interface BinaryReader {
  /** Returns the values at keys that share a hash tag, in the order of the keys, all read at the same moment. */
  mgetBuffer(keys: readonly string[]): Promise<(Buffer | null)[]>
  hmgetBuffer(key: string, fields: readonly string[]): Promise<(Buffer | null)[]>
  /** Returns all fields of a hash; empty if the hash does not exist. */
  hgetallBuffer(key: string): Promise<Record<string, Buffer>>
}

/** A Lua script that uses keys with the same hash tag. Its source must not depend on input. */
export type ViewScript = RedisScript

/** Runs the readers' scripts on data that the API itself stores in addition to a view. */
export type ViewScripts = BoundedScripts

/** Result while the partition's view is still being built. A missing key then proves nothing: the record may exist. */
export const NOT_CAUGHT_UP = Symbol('not caught up')

/**
 * Reads a value together with the caught-up flag. Without the flag, a missing value proves nothing, because the record
 * may exist. The value is requested first: if it is missing because Redis was emptied, the flag is missing too.
 */
export async function withCaughtUp<T>(
  reader: Pick<ViewReader, 'get'>,
  view: string,
  partition: number,
  value: Promise<T>,
): Promise<T | typeof NOT_CAUGHT_UP> {
  const [found, caughtUp] = await Promise.all([value, reader.get(caughtUpKey(view, partition))])
  return caughtUp === null ? NOT_CAUGHT_UP : found
}

/**
 * Returns whether these partitions of a view have caught up. Must be called after the values were requested: if values
 * are missing because Redis was emptied, the flags are missing too.
 */
export async function areCaughtUp(reader: Pick<ViewReader, 'get'>, view: string, partitions: Iterable<number>): Promise<boolean> {
  const flags = await Promise.all(Array.from(partitions, (partition) => reader.get(caughtUpKey(view, partition))))
  return !flags.includes(null)
}

/** Returns the partitions of a view that have not caught up yet. */
export async function missingPartitions(reader: ViewReader, view: string, partitions: number): Promise<number[]> {
  const flags = await Promise.all(Array.from({ length: partitions }, (_, partition) => reader.get(caughtUpKey(view, partition))))
  return flags.flatMap((flag, partition) => (flag === null ? [partition] : []))
}
