/** Options for sending each event of a stream when it is due. */
export interface PaceOptions<Event extends { readonly at: number }> {
  /** Returns the next event; undefined at the end of the stream. */
  readonly next: () => Event | undefined
  readonly send: (event: Event) => void
  readonly isFull: () => boolean
  readonly flush: () => Promise<void>
  /** Epoch ms. */
  readonly now: () => number
  /** Resolves after `ms`, or immediately when `stopped` becomes true. */
  readonly pause: (ms: number) => Promise<void>
  readonly stopped: () => boolean
}

/** Maximum pause. After each pause, the clock is read again. */
const STRIDE_MS = 100

/**
 * Sends each event when it is due. Resolves when the stream has ended or was stopped. If sending falls behind, events
 * are sent as fast as they are accepted. Only one flush runs at a time.
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
