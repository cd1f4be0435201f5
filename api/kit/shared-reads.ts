import type { ListReader, ViewReader } from '../../state/views/view.ts'

export type ValueReader = Pick<ViewReader, 'get'>

/** Reads single values and small hashes. */
export interface SharedReader extends ValueReader, Pick<ListReader, 'hgetall'> {
  getBuffer(key: string): Promise<Buffer | null>
}

export interface SharedCommands {
  /**
   * Returns the values of keys with the same hash tag, in the order of the keys. The value of an absent key is null.
   */
  readValues(keys: string[]): Promise<(string | null)[]>
  /** Like `readValues`, but for values that are bytes. */
  readBuffers(keys: string[]): Promise<(Buffer | null)[]>
  /** Returns the fields of hashes with the same hash tag, in the order of the keys. An absent hash has no fields. */
  readHashes(keys: string[]): Promise<Record<string, string>[]>
}

interface Waiting<T> {
  readonly keys: string[]
  /**
   * The result for each key. All readers of a key share its result, because caught-up flags and popular values are
   * often requested several times in one turn of the event loop.
   */
  readonly promises: Map<string, Promise<T>>
  readonly resolves: ((value: T) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/**
 * Maximum number of keys per command. Redis needs tens of microseconds for this many keys. A larger command would block
 * Redis for too long.
 */
const MAX_KEYS = 200

/**
 * Combines the reads of one event loop turn: all values, bytes or hashes with the same hash tag share a command, up to
 * `MAX_KEYS` of them. Under load, most of the cost of a small read is the fixed cost of a command, both here and in
 * Redis. A read waits at most until the end of its turn. A key that is requested several times in a turn is read once.
 * All its readers share the result and must not change it. In each turn, hashes and bytes are read before values. A
 * caught-up flag that is requested after a hash is therefore not older than the hash.
 */
export function sharedReads({ readValues, readBuffers, readHashes }: SharedCommands): SharedReader {
  let isDue = false
  const hashes = collected(readHashes, send)
  const buffers = collected(readBuffers, send)
  const values = collected(readValues, send)

  function send(): void {
    hashes.send()
    buffers.send()
    values.send()
  }

  function sendLater(): void {
    if (isDue) return
    isDue = true
    setImmediate(() => {
      isDue = false
      send()
    })
  }

  return {
    get(key) {
      sendLater()
      return values.add(key)
    },
    getBuffer(key) {
      sendLater()
      return buffers.add(key)
    },
    hgetall(key) {
      sendLater()
      return hashes.add(key)
    },
  }
}

/**
 * Groups reads by hash tag and collects them until they are sent.
 * @param full called before a command would exceed the maximum number of keys. Must send all waiting reads.
 */
function collected<T>(readAll: (keys: string[]) => Promise<T[]>, full: () => void) {
  let groups = new Map<string, Waiting<T>>()

  async function answer({ keys, resolves, rejects }: Waiting<T>): Promise<void> {
    try {
      const found = await readAll(keys)
      for (let index = 0; index < resolves.length; index++) resolves[index](found[index])
    } catch (error) {
      for (const reject of rejects) reject(error)
    }
  }

  return {
    send(): void {
      const sent = groups
      groups = new Map()
      for (const group of sent.values()) void answer(group)
    },
    add(key: string): Promise<T> {
      const tag = hashTag(key)
      const waiting = groups.get(tag)
      const shared = waiting?.promises.get(key)
      if (shared !== undefined) return shared
      if (waiting?.keys.length === MAX_KEYS) full()
      let group = groups.get(tag)
      if (group === undefined) {
        group = { keys: [], promises: new Map(), resolves: [], rejects: [] }
        groups.set(tag, group)
      }
      const { keys, promises, resolves, rejects } = group
      const reading = new Promise<T>((resolve, reject) => {
        keys.push(key)
        resolves.push(resolve)
        rejects.push(reject)
      })
      promises.set(key, reading)
      return reading
    },
  }
}

/**
 * Returns the hash tag of a key. For example, the tag of `{links:3}:link:abc` is `{links:3}`. Keys with the same tag
 * are on the same shard.
 */
function hashTag(key: string): string {
  return key.slice(0, key.indexOf('}') + 1)
}
