/** Limits how many pieces of work run at once. Callers who ask for the same thing share its result. */
export interface Gate {
  /** @param key identifies what is asked for; undefined if the result must not be shared */
  run<T>(key: string | undefined, work: () => Promise<T>): Promise<T>
}

/** @param places how many pieces of work run at once */
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
      // The next one takes over this place.
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
