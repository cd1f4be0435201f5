import { createHash } from 'node:crypto'
import { Cluster, type Redis } from 'ioredis'
import { APPLY_SCRIPT } from './apply-script.ts'
import { ViewStoreUnavailableError } from './unavailable.ts'
import { caughtUpKey, type ViewOperation, viewTag } from './view.ts'

/** Operations that one stretch of a topic's partition means for a view. */
export interface ViewBatch {
  readonly view: string
  readonly partition: number
  readonly topic: string
  /** Every topic that feeds the view: it is caught up when all of them are. */
  readonly viewTopics: readonly string[]
  /** Where the view must stand for the batch to be applied: the offset of its first record; undefined: it holds nothing of this topic. */
  readonly expected: number | undefined
  /** Offset behind the batch. */
  readonly next: number
  readonly operations: readonly ViewOperation[]
  /** The batch reaches the end that the log had when its reading began. */
  readonly caughtUp: boolean
  /** Epoch ms. */
  readonly now: number
}

export type ApplyResult =
  | { readonly applied: true }
  /** Nothing was changed: the view stands at another offset of the topic (undefined: it holds nothing of it). */
  | { readonly applied: false; readonly position: number | undefined }

export interface ViewPosition {
  /** The next offset that the view lacks. */
  readonly next: number
  /** When it was last confirmed, epoch ms. */
  readonly at: number
}

/** Where a sink writes views: Redis, alone or as a cluster. */
export interface ViewStore {
  /** Applies the batch and its offset together, or changes nothing. Throws ViewStoreUnavailableError when trying again may help. */
  apply(batch: ViewBatch): Promise<ApplyResult>
  /** Undefined when the view holds nothing of the topic. Throws ViewStoreUnavailableError. */
  position(view: string, partition: number, topic: string): Promise<ViewPosition | undefined>
  /** Deletes a view's partition, positions first. Throws ViewStoreUnavailableError. */
  clear(view: string, partition: number): Promise<void>
}

const SCRIPT_SHA = createHash('sha1').update(APPLY_SCRIPT).digest('hex')
const NONE = ''
/** Keys per SCAN step: a few hundred microseconds of Redis' one thread. */
const SCAN_COUNT = 1_000
/**
 * Errors with which Redis says "not now". Any other reply is a bug or a wrong configuration, which no retry cures.
 */
const PASSING = /^(LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|BUSY|OOM|MISCONF|NOREPLICAS|MOVED|ASK|UNBLOCKED|NOSCRIPT)\b/

/** @param redis a connection of the sink's own, that fails commands at once while it is away */
export function viewStore(redis: Redis | Cluster): ViewStore {
  // One signature for both: their overloads cannot be called through the union.
  const commands = redis as Redis

  async function apply(batch: ViewBatch): Promise<ApplyResult> {
    const [keys, args] = scriptArguments(batch)
    const [applied, position] = await asking(() => runScript(keys, args))
    if (applied === 1) return { applied: true }
    return { applied: false, position: position === undefined ? undefined : Number(position) }
  }

  async function runScript(keys: string[], args: string[]): Promise<[number, string?]> {
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

/** Where a view's partition keeps how far it is, by topic. */
export function positionsKey(view: string, partition: number): string {
  return `${viewTag(view, partition)}:positions`
}

function scriptArguments(batch: ViewBatch): [keys: string[], args: string[]] {
  const { view, partition, topic, viewTopics, expected, next, operations, caughtUp, now } = batch
  const tag = viewTag(view, partition)
  const keys = [positionsKey(view, partition), caughtUpKey(view, partition)]
  const indexes = new Map<string, string>()
  const args = [topic, expected === undefined ? NONE : String(expected), String(next), String(now), caughtUp ? '1' : '0']
  args.push(String(viewTopics.length), ...viewTopics)

  function keyIndex(key: string): string {
    const known = indexes.get(key)
    if (known !== undefined) return known
    if (!key.startsWith(tag)) throw new Error(`key ${key} of view ${view} does not begin with ${tag}: it may lie on another shard`)
    // Lua counts from one.
    const index = String(keys.push(key))
    indexes.set(key, index)
    return index
  }

  for (const operation of operations) appendOperation(args, operation, keyIndex)
  return [keys, args]
}

function appendOperation(args: string[], operation: ViewOperation, keyIndex: (key: string) => string): void {
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
    const { name, message } = error as Error
    if (name === 'ReplyError' && !PASSING.test(message)) throw error
    throw new ViewStoreUnavailableError(`Redis does not take the view: ${message}`, { cause: error })
  }
}
