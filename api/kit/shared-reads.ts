import type { ViewReader } from '../../state/views/view.ts'

/** Reads single values. */
export type ValueReader = Pick<ViewReader, 'get'>

interface Waiting {
  readonly keys: string[]
  readonly resolves: ((value: string | null) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/** Maximum number of keys per command. They take Redis some tens of microseconds; more would block it for too long. */
const MAX_KEYS = 200

/**
 * Combines the reads of one event loop turn into one command, because under load a small read costs little more than
 * its command, here and in Redis. This does not delay a single read.
 * @param readAll returns the values of keys that share a hash tag, in the order of the keys; null for an absent key
 */
export function sharedReads(readAll: (keys: string[]) => Promise<(string | null)[]>): ValueReader {
  /** The reads of the current turn by hash tag. */
  let turn = new Map<string, Waiting>()

  function send(): void {
    const groups = turn
    turn = new Map()
    for (const group of groups.values()) void answer(group)
  }

  async function answer({ keys, resolves, rejects }: Waiting): Promise<void> {
    try {
      const values = await readAll(keys)
      for (let index = 0; index < resolves.length; index++) resolves[index](values[index])
    } catch (error) {
      for (const reject of rejects) reject(error)
    }
  }

  return {
    get(key) {
      if (turn.size === 0) setImmediate(send)
      const tag = hashTag(key)
      let group = turn.get(tag)
      if (group === undefined || group.keys.length >= MAX_KEYS) {
        if (group !== undefined) void answer(group)
        group = { keys: [], resolves: [], rejects: [] }
        turn.set(tag, group)
      }
      const { keys, resolves, rejects } = group
      return new Promise((resolve, reject) => {
        keys.push(key)
        resolves.push(resolve)
        rejects.push(reject)
      })
    },
  }
}

/** Returns the hash tag of a key, such as `{links:3}` of `{links:3}:link:abc`. Keys with equal tags share a shard. */
function hashTag(key: string): string {
  return key.slice(0, key.indexOf('}') + 1)
}
