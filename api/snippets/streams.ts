import { ApiError, errors } from '../kit/errors.ts'

/** Limits how many long contents stream at once, and thereby the memory that they use. */
export interface Streams {
  /**
   * Waits for a slot. In the meantime, the client is held back. Throws ApiError `unavailable`. @returns a function that
   * frees the slot; further calls have no effect
   */
  take(): Promise<() => void>
  /** Number of slots in use. */
  readonly running: number
}

export interface StreamsOptions {
  readonly places: number
  /** Maximum number of requests that wait for a slot. */
  readonly maxWaiting: number
  readonly waitMs: number
}

/** Maximum number of concurrent uploads. Most uploads of ten megabytes take a fraction of a second. */
const PLACES_IN = 32
/** Maximum number of concurrent downloads. A slow reader occupies its slot until it is done. */
const PLACES_OUT = 128
const MAX_WAITING = 256
/** Longest wait for a slot. It is shorter than the time-outs of clients and of bodies. */
const WAIT_MS = 5_000
const RETRY_AFTER_SECONDS = 2

/** The streams of snippet contents in one process. */
export interface ContentStreams {
  readonly incoming: Streams
  readonly outgoing: Streams
}

export function contentStreams(): ContentStreams {
  const common = { maxWaiting: MAX_WAITING, waitMs: WAIT_MS }
  return { incoming: streams({ places: PLACES_IN, ...common }), outgoing: streams({ places: PLACES_OUT, ...common }) }
}

export function streams({ places, maxWaiting, waitMs }: StreamsOptions): Streams {
  const waiting = new Set<() => void>()
  let running = 0

  function place(): () => void {
    running++
    let isTaken = true
    return function giveBack() {
      if (!isTaken) return
      isTaken = false
      running--
      const [next] = waiting
      next?.()
    }
  }

  function busy(): ApiError {
    return new ApiError(errors.unavailable, {
      message: 'Too many long contents are being transferred. Try again shortly.',
      retryAfter: RETRY_AFTER_SECONDS,
    })
  }

  return {
    async take() {
      if (running < places) return place()
      if (waiting.size >= maxWaiting) throw busy()
      return await new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(next)
          reject(busy())
        }, waitMs)
        function next(): void {
          clearTimeout(timer)
          waiting.delete(next)
          resolve(place())
        }
        waiting.add(next)
      })
    },
    get running() {
      return running
    },
  }
}
