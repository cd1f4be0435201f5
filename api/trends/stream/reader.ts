/** An open response, through which one client receives events. */
export interface StreamReader {
  readonly body: ReadableStream<Uint8Array>
  /**
   * Sends an event, or keeps it until the client has read the previous event. If several events wait, only the newest
   * one is kept.
   */
  send(event: Uint8Array): void
  /** Sends a comment as a heartbeat, unless the client still has data to read. */
  beat(): void
  /** Returns for how many ms events have been waiting for the client; 0 if no event is waiting. */
  behindMs(): number
  /** Ends the stream normally. */
  end(): void
  /** Cuts the connection. */
  fail(cause: unknown): void
}

export interface StreamReaderOptions {
  /** The first event of the stream. */
  readonly first: Uint8Array
  /** Called when the client has disconnected. */
  onGone(): void
  /** Monotonic ms. */
  monotonic(): number
}

const HEARTBEAT = Buffer.from(': \n\n')

export function streamReader({ first, onGone, monotonic }: StreamReaderOptions): StreamReader {
  let waiting: Uint8Array | undefined
  let waitingSince: number | undefined
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>(
    {
      start(its) {
        controller = its
        controller.enqueue(first)
      },
      pull() {
        const next = waiting
        waiting = undefined
        waitingSince = undefined
        if (next !== undefined) controller.enqueue(next)
      },
      cancel: onGone,
    },
    { highWaterMark: 1 },
  )
  const canTake = () => (controller.desiredSize ?? 0) > 0

  return {
    body,
    send(event) {
      if (canTake()) return controller.enqueue(event)
      waiting = event
      waitingSince ??= monotonic()
    },
    beat() {
      if (canTake()) controller.enqueue(HEARTBEAT)
    },
    behindMs: () => (waitingSince === undefined ? 0 : monotonic() - waitingSince),
    end: () => controller.close(),
    fail: (cause) => controller.error(cause),
  }
}
