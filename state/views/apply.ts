import { createHash } from 'node:crypto'
import { Cluster, type Redis } from 'ioredis'
import { isPassingError } from '../redis/passing-errors.ts'
import { TargetUnavailableError } from '../unavailable.ts'
import { APPLY_SCRIPT } from './apply-script.ts'
import { caughtUpKey, type ViewOperation, type ViewValue, viewTag } from './view.ts'

/** The operations that a range of offsets of one topic partition produces for a view. */
export interface ViewBatch {
  readonly view: string
  readonly partition: number
  readonly topic: string
  /** Every topic that feeds the view. The view is caught up when it has caught up with all of them. */
  readonly viewTopics: readonly string[]
  /**
   * The position that the view must have for the batch to be applied: the offset of the batch's first record, or
   * undefined when the view holds nothing of this topic yet.
   */
  readonly expected: number | undefined
  /** The offset after the last record of the batch. */
  readonly next: number
  readonly operations: readonly ViewOperation[]
  /** True when the batch reaches the end that the log had when reading began. */
  readonly caughtUp: boolean
  /** Epoch ms. */
  readonly now: number
}

export type ApplyResult =
  | { readonly applied: true }
  /** Nothing was changed, because the view is at another position of the topic, or holds nothing of it (undefined). */
  | { readonly applied: false; readonly position: number | undefined }

export interface ViewPosition {
  /** Offset of the next record that the view lacks. */
  readonly next: number
  /** Time at which this position was last confirmed, epoch ms. */
  readonly at: number
}

/** Redis, single or clustered, as the store that sinks write views to. */
export interface ViewStore {
  /**
   * Applies the batch and advances the position together, or changes nothing.
   * @throws TargetUnavailableError when retrying may help
   */
  apply(batch: ViewBatch): Promise<ApplyResult>
  /**
   * @returns undefined when the view holds nothing of the topic
   * @throws TargetUnavailableError when retrying may help
   */
  position(view: string, partition: number, topic: string): Promise<ViewPosition | undefined>
  /**
   * Deletes one partition of a view, its positions first.
   * @throws TargetUnavailableError when retrying may help
   */
  clear(view: string, partition: number): Promise<void>
}

const SCRIPT_SHA = createHash('sha1').update(APPLY_SCRIPT).digest('hex')
const NONE = ''
/** Number of keys per SCAN step, which blocks the single thread of Redis for a few hundred microseconds. */
const SCAN_COUNT = 1_000
/** @param redis a dedicated connection of the sink that fails commands immediately while Redis is unavailable */
export function viewStore(redis: Redis | Cluster): ViewStore {
  // Redis and Cluster share these commands, but their overloads cannot be called through the union type.
  const commands = redis as Redis

  async function apply(batch: ViewBatch): Promise<ApplyResult> {
    const [keys, args] = scriptArguments(batch)
    const [applied, position] = await asking(() => runScript(keys, args))
    if (applied === 1) return { applied: true }
    return { applied: false, position: position === undefined ? undefined : Number(position) }
  }

  async function runScript(keys: string[], args: ViewValue[]): Promise<[number, string?]> {
    try {
      return (await commands.evalsha(SCRIPT_SHA, keys.length, ...keys, ...args)) as [number, string?]
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return (await commands.eval(APPLY_SCRIPT, keys.length, ...keys, ...args)) as [number, string?]
    }
  }

  async function position(view: string, partition: number, topic: string): Promise<ViewPosition | undefined> {
    const [next, at] = await asking(() => commands.hmget(positionsKey(view, partition), topic, `${topic}:at`))
    return next === null ? undefined : { next: Number(next), at: Number(at) }
  }

  async function clear(view: string, partition: number): Promise<void> {
    const tag = viewTag(view, partition)
    await asking(() => commands.del(caughtUpKey(view, partition), positionsKey(view, partition)))
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis]
    for (const node of nodes) await asking(() => deleteMatching(node, `${escapedGlob(tag)}:*`))
  }

  return { apply, position, clear }
}

/** Returns the key under which a view's partition keeps its position in each topic. */
export function positionsKey(view: string, partition: number): string {
  return `${viewTag(view, partition)}:positions`
}

function scriptArguments(batch: ViewBatch): [keys: string[], args: ViewValue[]] {
  const { view, partition, topic, viewTopics, expected, next, operations, caughtUp, now } = batch
  const tag = viewTag(view, partition)
  const keys = [positionsKey(view, partition), caughtUpKey(view, partition)]
  const indexes = new Map<string, string>()
  const args: ViewValue[] = [topic, expected === undefined ? NONE : String(expected), String(next), String(now), caughtUp ? '1' : '0']
  args.push(String(viewTopics.length), ...viewTopics)

  function keyIndex(key: string): string {
    const known = indexes.get(key)
    if (known !== undefined) return known
    if (!key.startsWith(tag)) throw new Error(`key ${key} of view ${view} does not begin with ${tag}: it may lie on another shard`)
    // Lua arrays start at 1.
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
    case 'zadd':
      args.push('zadd', keyIndex(operation.key), String(operation.score), operation.member)
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

async function deleteMatching(node: Redis, pattern: string): Promise<void> {
  let cursor = '0'
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    if (keys.length > 0) await node.unlink(...keys)
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
    throw new TargetUnavailableError(`Redis did not apply the view's changes: ${(error as Error).message}`, { cause: error })
  }
}
