import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { bodyPieces } from '../../../api/kit/body-stream.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const PIECES = 50
const PIECE_BYTES = 65_536
const LIMITS = { maxBytes: PIECES * PIECE_BYTES, timeoutMs: 60_000 }

const post = (body: ReadableStream) => new Request('http://localhost/', { method: 'POST', body, duplex: 'half' } as RequestInit)

test('chunks that were read can be garbage-collected before the body has ended', async () => {
  const made: WeakRef<Uint8Array>[] = []
  const body = new ReadableStream(
    {
      pull(controller) {
        if (made.length === PIECES) return controller.close()
        const piece = new Uint8Array(PIECE_BYTES)
        made.push(new WeakRef(piece))
        controller.enqueue(piece)
      },
    },
    { highWaterMark: 0 },
  )
  const pieces = bodyPieces(post(body), LIMITS)
  for (let taken = 0; taken < PIECES; taken++) await pieces.next()
  // A WeakRef keeps its target alive until the current turn of the event loop ends.
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  expect(made.filter((piece) => piece.deref() !== undefined).length).toBeLessThan(5)
  expect((await pieces.next()).done).toBe(true)
})

test('a body that is incomplete at the deadline fails with 408, whether or not anyone is reading it at that moment', async () => {
  vi.useFakeTimers()
  try {
    const oneAndNoMore = () =>
      post(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array(1)),
        }),
      )
    const waited = bodyPieces(oneAndNoMore(), LIMITS)
    await waited.next()
    const next = expect(waited.next()).rejects.toMatchObject({ definition: { code: 'request_timeout' } })
    await vi.advanceTimersByTimeAsync(LIMITS.timeoutMs)
    await next
    const busy = bodyPieces(oneAndNoMore(), LIMITS)
    await busy.next()
    await vi.advanceTimersByTimeAsync(LIMITS.timeoutMs)
    await expect(busy.next()).rejects.toMatchObject({ definition: { code: 'request_timeout' } })
  } finally {
    vi.useRealTimers()
  }
})
