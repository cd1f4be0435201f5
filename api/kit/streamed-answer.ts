/**
 * Returns a stream that passes a body on as fast as the client reads it. If the body fails, calls `onFailure` at once,
 * even while the client reads nothing. `onFailure` must end the answer. The returned stream does not fail, because the
 * framework would print the error instead of logging it.
 */
export function watchedBody(body: ReadableStream<Uint8Array>, onFailure: (error: unknown) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  reader.closed.catch(onFailure)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await reader.read().catch(() => undefined)
        if (piece === undefined) return
        if (piece.done) controller.close()
        else controller.enqueue(piece.value)
      },
      cancel: (reason) => reader.cancel(reason).catch(() => undefined),
    },
    { highWaterMark: 0 },
  )
}
