/**
 * Callers that come together share a request: one that comes alone is sent at once, those that come within `spacingMs` of a request share the
 * next. At most `maxInFlight` requests are under way at a time; meanwhile the next batch grows; more than `maxWaiting` items are refused.
 */
export interface Batches<T> {
  /** Resolves or rejects with the request that carries the item. An item that is cancelled before is left out. */
  add(item: T): { readonly sent: Promise<void>; cancel(): void }
  readonly waiting: number
}

export interface BatchesOptions<T> {
  send(items: readonly T[]): Promise<unknown>
  readonly spacingMs: number
  readonly maxItems: number
  /** A batch ends with the item that reaches this. */
  readonly maxBytes: number
  bytesOf(item: T): number
  readonly maxInFlight: number
  readonly maxWaiting: number
}

/** Too much is waiting already. */
class BatchesFullError extends Error {
  override readonly name = 'BatchesFullError'
}

interface Waiting<T> {
  readonly item: T
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function batches<T>(options: BatchesOptions<T>): Batches<T> {
  const waiting = new Set<Waiting<T>>()
  let inFlight = 0
  let timer: NodeJS.Timeout | NodeJS.Immediate | undefined
  let lastFlushAt = Number.NEGATIVE_INFINITY

  function flush(): void {
    timer = undefined
    lastFlushAt = performance.now()
    while (waiting.size > 0 && inFlight < options.maxInFlight) void sendSome()
  }

  /** Not now: others of the same turn come too. */
  function flushSoon(): NodeJS.Timeout | NodeJS.Immediate {
    const wait = lastFlushAt + options.spacingMs - performance.now()
    return wait > 0 ? setTimeout(flush, wait) : setImmediate(flush)
  }

  async function sendSome(): Promise<void> {
    const batch: Waiting<T>[] = []
    let bytes = 0
    for (const one of waiting) {
      if (batch.length === options.maxItems || bytes >= options.maxBytes) break
      batch.push(one)
      bytes += options.bytesOf(one.item)
      waiting.delete(one)
    }
    inFlight++
    try {
      await options.send(batch.map(({ item }) => item))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      inFlight--
      if (timer === undefined && waiting.size > 0) flush()
    }
  }

  function add(item: T) {
    if (waiting.size >= options.maxWaiting) throw new BatchesFullError(`${waiting.size} records wait already`)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const one: Waiting<T> = { item, resolve, reject }
    waiting.add(one)
    timer ??= flushSoon()
    return { sent: promise, cancel: () => void waiting.delete(one) }
  }

  return {
    add,
    get waiting() {
      return waiting.size
    },
  }
}
