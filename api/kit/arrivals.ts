/** How long to wait for a change. Normally, a change can be read about 30 ms after it is stored. */
const SEEN_WITHIN_MS = 1_000

/** Lets handlers wait until this process's copy of a topic contains the caller's change. */
export interface Arrivals {
  /** Must be called after every change to the copy. */
  changed(): void
  /**
   * Waits until `isSeen` returns true, but no longer than a second.
   * @returns whether `isSeen` has returned true
   */
  until(isSeen: () => boolean): Promise<boolean>
}

export function arrivals(): Arrivals {
  let waiting: (() => void)[] = []
  return {
    changed() {
      const seen = waiting
      waiting = []
      for (const look of seen) look()
    },

    async until(isSeen) {
      const { promise: late, resolve } = Promise.withResolvers<'late'>()
      const timer = setTimeout(resolve, SEEN_WITHIN_MS, 'late')
      try {
        while (!isSeen()) {
          const changed = new Promise<void>((look) => waiting.push(look))
          if ((await Promise.race([changed, late])) === 'late') return isSeen()
        }
        return true
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
