import { ApiError, errors } from '../kit/errors.ts'

/** Bounds how many long contents stream at once, and with that the memory that they take. */
export interface Streams {
  /**
   * Waits for a place; the client is held back meanwhile. Throws ApiError `unavailable`.
   * @returns gives the place back; may be called again
   */
  take(): Promise<() => void>
  /** That are under way. */
  readonly running: number
}

export interface StreamsOptions {
  readonly places: number
  /** How many more may wait. */
  readonly maxWaiting: number
  readonly waitMs: number
}

/** Of content on its way in: most of ten megabytes take a fraction of a second. */
const PLACES_IN = 32
/** Of content on its way out: a slow reader has its place for as long as it takes. */
const PLACES_OUT = 128
const MAX_WAITING = 256
/** Below the time-outs of clients and of bodies. */
const WAIT_MS = 5_000
const RETRY_AFTER_SECONDS = 2

/** Of the content of snippets, one process. */
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
      message: 'Too many long contents are under way: try again shortly.',
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
