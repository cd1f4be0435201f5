/** Limits how many tasks run at once. Concurrent callers with the same key share the result of one task. */
export interface Gate {
  /**
   * Runs a task as soon as fewer than the maximum number of tasks are running.
   * @param key identifies the task; undefined if its result must not be shared
   */
  run<T>(key: string | undefined, work: () => Promise<T>): Promise<T>
}

/**
 * Creates a gate. While the maximum number of tasks is running, further tasks wait in a queue.
 * @param places maximum number of tasks that run at once
 */
export function gate(places: number): Gate {
  const shared = new Map<string, Promise<unknown>>()
  const queue: (() => void)[] = []
  let running = 0

  async function inPlace<T>(work: () => Promise<T>): Promise<T> {
    if (running >= places) await new Promise<void>((resolve) => queue.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      // The next task in the queue takes over this slot.
      const next = queue.shift()
      if (next === undefined) running--
      else next()
    }
  }

  return {
    async run<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
      if (key === undefined) return await inPlace(work)
      const known = shared.get(key) as Promise<T> | undefined
      if (known !== undefined) return await known
      const result = inPlace(work)
      shared.set(key, result)
      try {
        return await result
      } finally {
        shared.delete(key)
      }
    },
  }
}
