import { limitedAddress } from '../kit/client-address.ts'
import { ApiError, errors } from '../kit/errors.ts'

/**
 * Limits how many transfers of long content run at once, and thus how much memory they use. Neither a single caller nor
 * many slow callers can occupy all slots for a long time.
 */
export interface Streams {
  /**
   * Waits for a slot. Meanwhile, the client can neither send nor read more content. Throws ApiError `unavailable`.
   * @param address the client's address. All addresses of an IPv6 /64 share their slots.
   * @param giveWay called if the transfer loses its slot, because it is too slow while other requests wait
   */
  take(address: string, giveWay: () => void): Promise<Slot>
  /** Number of slots in use. */
  readonly running: number
}

/**
 * A slot in use. It has a clock that measures how long the client takes. A transfer can be cut off for slowness only
 * while the clock is running.
 */
export interface Slot {
  /** Starts the clock, because the client must now send or read the next chunk. */
  awaitClient(): void
  /** Stops the clock, because the client has sent or read this many bytes. */
  moved(bytes: number): void
  /** Frees the slot; further calls have no effect. */
  giveBack(): void
}

export interface StreamsOptions {
  readonly places: number
  readonly placesPerCaller: number
  /** Maximum number of requests that wait for a slot. */
  readonly maxWaiting: number
  readonly maxWaitingPerCaller: number
  readonly waitMs: number
  /** Monotonic milliseconds. */
  readonly monotonic?: () => number
}

/** Maximum number of concurrent uploads. Most uploads of ten megabytes take a fraction of a second. */
const PLACES_IN = 32
const PLACES_IN_PER_CALLER = 8
/**
 * Maximum number of concurrent downloads. It is higher than the maximum for uploads, because a slow reader may occupy
 * its slot for minutes.
 */
const PLACES_OUT = 128
const PLACES_OUT_PER_CALLER = 16
const MAX_WAITING = 256
const MAX_WAITING_PER_CALLER = 32
/** Maximum time to wait for a slot. It is shorter than the time limits of clients and of bodies. */
const WAIT_MS = 5_000
const RETRY_AFTER_SECONDS = 2
/**
 * Minimum average rate of a transfer. A slower transfer may lose its slot to a waiting request. Even the slowest mobile
 * networks reach this rate.
 */
const LEAST_BYTES_PER_SECOND = 16_384
/**
 * How long a transfer must have waited for its client, in total, before its rate is judged. This time does not exceed
 * WAIT_MS, so that a client that stalls can lose its slot before a waiting request is refused.
 */
const GRACE_MS = 5_000
const MS_PER_SECOND = 1_000

/** The limits on concurrent uploads and downloads of content in one process. */
export interface ContentStreams {
  readonly incoming: Streams
  readonly outgoing: Streams
}

export function contentStreams(): ContentStreams {
  const common = { maxWaiting: MAX_WAITING, maxWaitingPerCaller: MAX_WAITING_PER_CALLER, waitMs: WAIT_MS }
  return {
    incoming: streams({ places: PLACES_IN, placesPerCaller: PLACES_IN_PER_CALLER, ...common }),
    outgoing: streams({ places: PLACES_OUT, placesPerCaller: PLACES_OUT_PER_CALLER, ...common }),
  }
}

interface Transfer {
  readonly caller: string
  readonly slot: Slot
  readonly giveWay: () => void
  bytes: number
  /** How long the client has taken so far, in ms. */
  clientMs: number
  /** Monotonic ms; undefined while the clock is stopped. */
  awaitedSince: number | undefined
}

interface Waiting {
  readonly caller: string
  readonly start: () => void
}

export function streams(options: StreamsOptions): Streams {
  const { places, placesPerCaller, maxWaiting, maxWaitingPerCaller, waitMs, monotonic = () => performance.now() } = options
  const transfers = new Set<Transfer>()
  const queue = new Set<Waiting>()

  function transfersOf(caller: string): Transfer[] {
    return [...transfers].filter((transfer) => transfer.caller === caller)
  }

  function mayStart(caller: string): boolean {
    return transfers.size < places && transfersOf(caller).length < placesPerCaller
  }

  function start(caller: string, giveWay: () => void): Slot {
    const transfer: Transfer = {
      caller,
      giveWay,
      bytes: 0,
      clientMs: 0,
      awaitedSince: undefined,
      slot: {
        awaitClient() {
          transfer.awaitedSince = monotonic()
        },
        moved(bytes) {
          transfer.clientMs = clientMsOf(transfer)
          transfer.awaitedSince = undefined
          transfer.bytes += bytes
        },
        giveBack() {
          if (transfers.delete(transfer)) startNext()
        },
      },
    }
    transfers.add(transfer)
    return transfer.slot
  }

  function clientMsOf({ clientMs, awaitedSince }: Transfer): number {
    return clientMs + (awaitedSince === undefined ? 0 : monotonic() - awaitedSince)
  }

  /** Starts the first waiting request whose caller may have another slot. */
  function startNext(): void {
    const next = [...queue].find(({ caller }) => mayStart(caller))
    next?.start()
  }

  /** Cuts off the slowest of the transfers that keep this caller waiting, unless all of them are fast enough. */
  function makeRoomFor(caller: string): void {
    const own = transfersOf(caller)
    const blocking = own.length < placesPerCaller ? transfers : own
    let slowest: { transfer: Transfer; rate: number } | undefined
    for (const transfer of blocking) {
      const clientMs = clientMsOf(transfer)
      if (transfer.awaitedSince === undefined || clientMs < GRACE_MS) continue
      const rate = (transfer.bytes / clientMs) * MS_PER_SECOND
      if (rate < (slowest?.rate ?? LEAST_BYTES_PER_SECOND)) slowest = { transfer, rate }
    }
    slowest?.transfer.slot.giveBack()
    slowest?.transfer.giveWay()
  }

  function busy(): ApiError {
    return new ApiError(errors.unavailable, {
      message: 'Too many large snippets are being transferred. Try again shortly.',
      retryAfter: RETRY_AFTER_SECONDS,
    })
  }

  return {
    async take(address, giveWay) {
      const caller = limitedAddress(address)
      if (mayStart(caller)) return start(caller, giveWay)
      const isFull = queue.size >= maxWaiting || [...queue].filter((other) => other.caller === caller).length >= maxWaitingPerCaller
      if (isFull) throw busy()
      return await new Promise((resolve, reject) => {
        const waiting: Waiting = {
          caller,
          start() {
            clearTimeout(timer)
            queue.delete(waiting)
            resolve(start(caller, giveWay))
          },
        }
        const timer = setTimeout(() => {
          // Tries again. Since the wait began, more transfers may have waited for their clients long enough to be
          // judged.
          makeRoomFor(caller)
          if (queue.delete(waiting)) reject(busy())
        }, waitMs)
        queue.add(waiting)
        makeRoomFor(caller)
      })
    },
    get running() {
      return transfers.size
    },
  }
}
