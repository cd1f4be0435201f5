import { randomUUID } from 'node:crypto'
import { Cluster, type Redis } from 'ioredis'
import { isPassingError } from '../redis/passing-errors.ts'
import { type RedisScript, runScript } from '../redis/run-script.ts'
import { TargetUnavailableError } from '../unavailable.ts'
import { APPLY_SCRIPT } from './apply-script.ts'
import { BEGIN_CLEARING, CLEARING_FIELD, END_CLEARING, REMOVE_WHILE_CLEARING } from './clearing-scripts.ts'
import { caughtUpKey, layoutOf, type ViewOperation, type ViewValue, viewTag, withoutLayout } from './view.ts'

/** The operations that a range of offsets of one topic partition produces for a view. */
export interface ViewBatch {
  readonly view: string
  readonly partition: number
  readonly topic: string
  /** Every topic that feeds the view. The view is caught up when it has caught up with all of them. */
  readonly viewTopics: readonly string[]
  /**
   * The position that the view must have for the batch to be applied: the offset of the batch's first record, or
   * undefined when the view has no position in this topic yet.
   */
  readonly expected: number | undefined
  /** The offset after the last record of the batch. */
  readonly next: number
  /** Id of the topic, to be stored with the position. Undefined keeps the stored id. */
  readonly topicId?: string | undefined
  readonly operations: readonly ViewOperation[]
  /** True when the batch reaches the end that the log had when reading began. */
  readonly caughtUp: boolean
  /**
   * Time (epoch ms) at which the end of this batch was the end of the log; undefined if more records are known to
   * follow.
   */
  readonly completeAt?: number | undefined
  /** Epoch ms. */
  readonly now: number
}

export type ApplyResult =
  | { readonly applied: true }
  /** No operation was applied, because the view is at a different position of the topic, or has none (undefined). */
  | { readonly applied: false; readonly position: number | undefined }

export interface ViewPosition {
  /** Offset of the first record that the view lacks. */
  readonly next: number
  /**
   * Time at which the view last contained the whole log, epoch ms; before the view is complete, the time of its first
   * batch. If this time is longer ago than Kafka keeps tombstones, the view may have missed tombstones, so it is
   * rebuilt.
   */
  readonly at: number
  /** Id of the topic that the offset belongs to; undefined if an earlier version of the sink wrote the position. */
  readonly topicId?: string | undefined
}

/** The Redis, single or clustered, to which sinks write views. */
export interface ViewStore {
  /**
   * Applies all operations of the batch and advances the position together, or does neither. There is one exception:
   * while a cluster moves the partition's slot, Redis may stop after some of the operations. The position then stays,
   * and a repetition applies the whole batch.
   * @throws TargetUnavailableError when retrying may help
   */
  apply(batch: ViewBatch): Promise<ApplyResult>
  /**
   * @returns undefined when the view has no position in the topic
   * @throws TargetUnavailableError when retrying may help
   */
  position(view: string, partition: number, topic: string): Promise<ViewPosition | undefined>
  /**
   * Returns the strings at these keys of one partition of a view; null for missing keys.
   * @throws TargetUnavailableError when retrying may help
   */
  read(keys: readonly string[]): Promise<(string | null)[]>
  /**
   * Deletes one partition of a view, except for the keys that `keeps` selects, if its position in the topic is still
   * `read`. No batch can be applied to the partition until the clearing has ended.
   * @throws TargetUnavailableError when retrying may help. The clearing is then unfinished; see `finishClearing`.
   */
  clear(view: string, partition: number, topic: string, read: ViewPosition, keeps?: KeptKeys): Promise<void>
  /**
   * Completes a `clear` that was interrupted. Also clears a partition that has no position, because the age of its keys
   * is unknown: a sink that filled the partition would never delete keys whose records are gone from the log. Several
   * processes may clear the same partition at once.
   * @throws TargetUnavailableError when retrying may help
   */
  finishClearing(view: string, partition: number, keeps?: KeptKeys): Promise<void>
}

/** Returns true for the keys that stay when a partition is cleared. */
type KeptKeys = (key: string) => boolean

const APPLY: RedisScript = { name: 'apply-view-batch', source: APPLY_SCRIPT }
const CLEARING_SCRIPTS: Readonly<Record<'begin' | 'remove' | 'end', RedisScript>> = {
  begin: { name: 'begin-clearing', source: BEGIN_CLEARING },
  remove: { name: 'remove-while-clearing', source: REMOVE_WHILE_CLEARING },
  end: { name: 'end-clearing', source: END_CLEARING },
}
const NONE = ''
/** Arguments of `BEGIN_CLEARING` for a partition without positions: no topic, no offset and no time. */
const NO_POSITIONS = [NONE, NONE, NONE]
/** Number of keys per SCAN step. A step blocks the single thread of Redis for a few hundred microseconds. */
const SCAN_COUNT = 1_000

/** @param redis a connection that only the sink uses, and that fails commands immediately while Redis is unavailable */
export function viewStore(redis: Redis | Cluster): ViewStore {
  // Redis and Cluster share these commands, but their overloads cannot be called through the union type.
  const commands = redis as Redis

  async function apply(batch: ViewBatch): Promise<ApplyResult> {
    const [keys, args] = scriptArguments(batch)
    const [applied, position] = (await asking(() => run(APPLY, keys, args))) as [number, string?]
    if (applied === 1) return { applied: true }
    return { applied: false, position: position === undefined ? undefined : Number(position) }
  }

  const run = (script: RedisScript, keys: readonly string[], args: readonly ViewValue[]) => runScript(commands, script, keys, args)

  async function position(view: string, partition: number, topic: string): Promise<ViewPosition | undefined> {
    const fields = [topic, completeAtField(topic), `${topic}:id`]
    const [next, at, topicId] = await asking(() => commands.hmget(positionsKey(view, partition), ...fields))
    return next === null ? undefined : { next: Number(next), at: Number(at), topicId: topicId ?? undefined }
  }

  async function clear(view: string, partition: number, topic: string, read: ViewPosition, keeps?: KeptKeys): Promise<void> {
    await beginClearing(view, partition, [topic, String(read.next), String(read.at)])
    await finishClearing(view, partition, keeps)
  }

  async function beginClearing(view: string, partition: number, read: readonly string[]): Promise<void> {
    // Processes that still use the earlier layout read its flag, so that flag must be deleted too.
    const flags = [caughtUpKey(view, partition), caughtUpKey(withoutLayout(view), partition)]
    await asking(() => run(CLEARING_SCRIPTS.begin, [positionsKey(view, partition), ...flags], [randomUUID(), ...read]))
  }

  async function finishClearing(view: string, partition: number, keeps?: KeptKeys): Promise<void> {
    const positions = positionsKey(view, partition)
    const [clearing, isFilled] = await asking(() => Promise.all([commands.hget(positions, CLEARING_FIELD), commands.exists(positions)]))
    if (clearing === null) {
      if (isFilled === 1) return
      await beginClearing(view, partition, NO_POSITIONS)
      return await finishClearing(view, partition, keeps)
    }
    const pattern = `${escapedGlob(viewTag(view, partition))}:*`
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis]
    for (const node of nodes) {
      await asking(() =>
        forMatching(node, pattern, async (found) => {
          const keys = found.filter((key) => key !== positions && !keeps?.(key))
          if (keys.length > 0) await run(CLEARING_SCRIPTS.remove, [positions, ...keys], [clearing])
        }),
      )
    }
    await asking(() => run(CLEARING_SCRIPTS.end, [positions], [clearing]))
  }

  return { apply, position, read: (keys) => asking(() => commands.mget(...keys)), clear, finishClearing }
}

/** Returns the key under which the positions of a view's partition are stored. */
export function positionsKey(view: string, partition: number): string {
  return `${viewTag(view, partition)}:positions${layoutOf(view)}`
}

/**
 * Returns the name of the field, in the positions of a partition, that holds the time at which the view last contained
 * the whole topic. See `ViewPosition.at`.
 */
export function completeAtField(topic: string): string {
  return `${topic}:at`
}

function scriptArguments(batch: ViewBatch): [keys: string[], args: ViewValue[]] {
  const { view, partition, topic, viewTopics, expected, next, topicId, operations, caughtUp, completeAt, now } = batch
  const tag = viewTag(view, partition)
  const keys = [positionsKey(view, partition), caughtUpKey(view, partition)]
  const indexes = new Map<string, string>()
  const args: ViewValue[] = [topic, expected === undefined ? NONE : String(expected), String(next), String(now), caughtUp ? '1' : '0']
  args.push(topicId ?? NONE, completeAt === undefined ? NONE : String(completeAt))
  args.push(String(viewTopics.length), ...viewTopics)

  function keyIndex(key: string): string {
    const known = indexes.get(key)
    if (known !== undefined) return known
    if (!key.startsWith(tag)) throw new Error(`key ${key} of view ${view} does not begin with ${tag}: it may be on another shard`)
    // `push` returns the new length. This is the index of the key in Lua, where arrays start at 1.
    const index = String(keys.push(key))
    indexes.set(key, index)
    return index
  }

  for (const operation of operations) appendOperation(args, operation, keyIndex)
  return [keys, args]
}

function appendOperation(args: ViewValue[], operation: ViewOperation, keyIndex: (key: string) => string): void {
  switch (operation.op) {
    case 'set':
      args.push('set', keyIndex(operation.key), operation.value)
      return
    case 'setIfNewer':
      args.push('newer', keyIndex(operation.key), String(operation.version), operation.value)
      return
    case 'del':
      args.push('del', keyIndex(operation.key))
      return
    case 'hset': {
      const fields = Object.entries(operation.fields)
      args.push('hset', keyIndex(operation.key), String(fields.length))
      for (const [field, value] of fields) args.push(field, value)
      return
    }
    case 'hdel':
      args.push('hdel', keyIndex(operation.key), operation.field)
      return
    case 'hdelUpTo':
      args.push('hdelupto', keyIndex(operation.key), operation.field, String(operation.upTo.number), operation.upTo.text)
      return
    case 'hsetFrom':
      args.push('hsetfrom', keyIndex(operation.key), operation.field, String(operation.number), operation.value)
      return
    case 'hkeep':
      args.push('hkeep', keyIndex(operation.key), operation.suffix, String(operation.number))
      return
    case 'removeRows': {
      const { key, rowBytes, items, counters } = operation
      args.push('removerows', keyIndex(key), keyIndex(counters), String(rowBytes), String(items.length))
      for (const { start, amount, counters: fields } of items) args.push(start, String(amount), String(fields.length), ...fields)
      return
    }
    case 'zadd':
      args.push('zadd', keyIndex(operation.key), String(operation.score), operation.member, String(operation.newest ?? NONE))
      return
    case 'zrem':
      args.push('zrem', keyIndex(operation.key), operation.member)
      return
    case 'expire':
      args.push('expire', keyIndex(operation.key), String(operation.seconds))
      return
    case 'publish':
      args.push('publish', '0', operation.channel, operation.message)
      return
  }
}

async function forMatching(node: Redis, pattern: string, visit: (keys: string[]) => Promise<void>): Promise<void> {
  let cursor = '0'
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    if (keys.length > 0) await visit(keys)
    cursor = next
  } while (cursor !== '0')
}

function escapedGlob(text: string): string {
  return text.replaceAll(/[\\[\]*?]/g, '\\$&')
}

async function asking<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (!isPassingError(error as Error)) throw error
    throw new TargetUnavailableError(`a request to Redis failed: ${(error as Error).message}`, { cause: error })
  }
}
