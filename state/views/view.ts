/**
 * One change of a view. A sink applies the operations of a batch, in order and together with the batch's offset, in one atomic step;
 * all keys of a partition share its hash tag, so that this is one shard's work.
 */
export type ViewOperation =
  | { readonly op: 'set'; readonly key: string; readonly value: string }
  /** Writes only when `version` is greater than the stored one. Stored as a hash: VERSION_FIELD and VALUE_FIELD. */
  | { readonly op: 'setIfNewer'; readonly key: string; readonly version: number; readonly value: string }
  | { readonly op: 'del'; readonly key: string }
  | { readonly op: 'hset'; readonly key: string; readonly fields: Readonly<Record<string, string>> }
  | { readonly op: 'hdel'; readonly key: string; readonly field: string }
  /** A member of a sorted set: sorted by score, members of one score by their bytes. */
  | { readonly op: 'zadd'; readonly key: string; readonly score: number; readonly member: string }
  | { readonly op: 'zrem'; readonly key: string; readonly member: string }
  | { readonly op: 'expire'; readonly key: string; readonly seconds: number }
  | { readonly op: 'publish'; readonly channel: string; readonly message: string }

/** Fields of a hash that `setIfNewer` writes. */
export const VERSION_FIELD = 'version'
export const VALUE_FIELD = 'value'

/** What a topic's records mean for a view: written by the sink, read by the API, formats known to the view's file alone. */
export interface View<K, V> {
  /** Also the name in hash tags: `{name:partition}`. */
  readonly name: string
  /** @param value null: the key was deleted */
  operationsFor(partition: number, key: K, value: V | null): ViewOperation[]
}

/** The hash tag that every key of a view's partition begins with. */
export function viewTag(view: string, partition: number): string {
  return `{${view}:${partition}}`
}

/** Set by the sink once every topic of the view is read to its end in this partition; gone when Redis was emptied. */
export function caughtUpKey(view: string, partition: number): string {
  return `${viewTag(view, partition)}:caught-up`
}

/** The commands that readers of views use. */
export interface ViewReader {
  get(key: string): Promise<string | null>
  hget(key: string, field: string): Promise<string | null>
}

/** The further commands of readers of lists. */
export interface ListReader {
  hmget(key: string, fields: readonly string[]): Promise<(string | null)[]>
  zcard(key: string): Promise<number>
  /** Members by descending score, from `start` to `stop`, both counted from 0 and inclusive. */
  zrevrange(key: string, start: number, stop: number): Promise<string[]>
  /** The same by ascending score. */
  zrange(key: string, start: number, stop: number): Promise<string[]>
}

/** The partition's view is still being built: nothing in it can be believed to be absent. */
export const NOT_CAUGHT_UP = Symbol('not caught up')

/**
 * A value together with the proof that its absence means something. The value is asked for first: a Redis that is emptied between the two
 * answers has no flag any more.
 */
export async function withCaughtUp<T>(
  reader: ViewReader,
  view: string,
  partition: number,
  value: Promise<T>,
): Promise<T | typeof NOT_CAUGHT_UP> {
  const [found, caughtUp] = await Promise.all([value, reader.get(caughtUpKey(view, partition))])
  return caughtUp === null ? NOT_CAUGHT_UP : found
}

/** Partitions of a view that are not caught up yet. */
export async function missingPartitions(reader: ViewReader, view: string, partitions: number): Promise<number[]> {
  const flags = await Promise.all(Array.from({ length: partitions }, (_, partition) => reader.get(caughtUpKey(view, partition))))
  return flags.flatMap((flag, partition) => (flag === null ? [partition] : []))
}
