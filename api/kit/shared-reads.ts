import type { ViewReader } from '../../state/views/view.ts'

/** Reads single values. */
export type ValueReader = Pick<ViewReader, 'get'>

interface Waiting {
  readonly keys: string[]
  readonly resolves: ((value: string | null) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/** Keys per command: some tens of microseconds of Redis' one thread. */
const MAX_KEYS = 200

/**
 * Reads that are asked for in one turn of the event loop go out as one command: under load most of a small read's cost is that of a command, here
 * and in Redis. What is alone goes out as soon.
 * @param readAll values of keys that share a hash tag, in their order; null: absent
 */
export function sharedReads(readAll: (keys: string[]) => Promise<(string | null)[]>): ValueReader {
  /** By hash tag. */
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

/** `{links:3}` of `{links:3}:link:abc`: keys that share it lie on one shard. */
function hashTag(key: string): string {
  return key.slice(0, key.indexOf('}') + 1)
}
