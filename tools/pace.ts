/** Sends events of a stream at their times. */
export interface PaceOptions<Event extends { readonly at: number }> {
  /** Undefined: the stream has ended. */
  readonly next: () => Event | undefined
  readonly send: (event: Event) => void
  readonly isFull: () => boolean
  readonly flush: () => Promise<void>
  /** Epoch ms. */
  readonly now: () => number
  /** Resolves after `ms`, or at once when `stopped` becomes true. */
  readonly pause: (ms: number) => Promise<void>
  readonly stopped: () => boolean
}

/** Events that became due together leave together: a tenth of a second is not seen and spares requests. */
const STRIDE_MS = 100

/**
 * Resolves when the stream has ended or was stopped. When sending takes longer than the events' times allow, they go out as fast as they are
 * taken: nothing queues here beyond one flush.
 */
export async function playInTime<Event extends { readonly at: number }>(options: PaceOptions<Event>): Promise<void> {
  const { next, send, isFull, flush, now, pause, stopped } = options
  let waiting = next()
  while (waiting !== undefined && !stopped()) {
    while (waiting !== undefined && waiting.at <= now() && !isFull()) {
      send(waiting)
      waiting = next()
    }
    await flush()
    if (waiting !== undefined && waiting.at > now()) await pause(Math.min(STRIDE_MS, waiting.at - now()))
  }
  await flush()
}
