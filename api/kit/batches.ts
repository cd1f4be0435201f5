/**
 * Callers that come together share a request: what is added within `lingerMs` goes out at once, at most `maxInFlight` requests at a time.
 * While they are under way the next batch grows; more than `maxWaiting` items are refused.
 */
export interface Batches<T> {
  /** Resolves or rejects with the request that carries the item. An item that is cancelled before is left out. */
  add(item: T): { readonly sent: Promise<void>; cancel(): void }
  readonly waiting: number
}

export interface BatchesOptions<T> {
  send(items: readonly T[]): Promise<unknown>
  readonly lingerMs: number
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
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    while (waiting.size > 0 && inFlight < options.maxInFlight) void sendSome()
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
      if (timer === undefined) flush()
    }
  }

  function add(item: T) {
    if (waiting.size >= options.maxWaiting) throw new BatchesFullError(`${waiting.size} records wait already`)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const one: Waiting<T> = { item, resolve, reject }
    waiting.add(one)
    timer ??= setTimeout(flush, options.lingerMs)
    return { sent: promise, cancel: () => void waiting.delete(one) }
  }

  return {
    add,
    get waiting() {
      return waiting.size
    },
  }
}
