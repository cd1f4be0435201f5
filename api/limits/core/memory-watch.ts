/** Watches how full Redis is. The watch uses no timer, so that an idle process does not wake up. */
export interface MemoryWatch {
  /**
   * Whether Redis was almost full when it last answered. If the last query is old, reading the property also sends a
   * new query, without waiting for its answer.
   */
  readonly isShort: boolean
  /**
   * Asks Redis now.
   * @returns the share of its memory that is in use; undefined if Redis does not respond
   */
  ratio(): Promise<number | undefined>
}

export interface MemoryWatchOptions {
  /** Returns the share of Redis's memory that is in use. */
  read(): Promise<number>
  /** Monotonic ms. */
  monotonic(): number
  /** Called when Redis's memory runs short, and when it is no longer short. */
  onChange(isShort: boolean, ratio: number): void
}

/** Interval between queries. In this time, 100,000 new counters a second use 50 MB. */
const ASK_EVERY_MS = 5_000
/**
 * Memory counts as short when this share of it is in use. The share is above the threshold of the alert
 * (docs/operations.md#rate-limits), and low enough to react before writes fail.
 */
const SHORT_FROM = 0.9
/**
 * Memory no longer counts as short when less than this share of it is in use. The share is lower than `SHORT_FROM`, so
 * that the state does not keep changing.
 */
const SHORT_UNTIL = 0.8

export function memoryWatch({ read, monotonic, onChange }: MemoryWatchOptions): MemoryWatch {
  let isShort = false
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<number | undefined> | undefined

  async function ask(): Promise<number | undefined> {
    try {
      const ratio = await read()
      const before = isShort
      isShort = ratio >= (isShort ? SHORT_UNTIL : SHORT_FROM)
      if (isShort !== before) onChange(isShort, ratio)
      return ratio
    } catch {
      // If Redis does not respond, the requests themselves detect the failure. The last known state stays in use.
      return undefined
    }
  }

  function ratio(): Promise<number | undefined> {
    askedAt = monotonic()
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }

  return {
    get isShort() {
      if (monotonic() - askedAt >= ASK_EVERY_MS) void ratio()
      return isShort
    },
    ratio,
  }
}
