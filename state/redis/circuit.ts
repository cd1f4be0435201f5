/**
 * A circuit breaker, which keeps requests from waiting for a server that does not respond.
 *
 * closed ──a failure──▶ open ──the pause is over──▶ probing ──an answer in time──▶ closed
 *                        ▲                             │
 *                        └────── a longer pause ◀──a failure
 *
 * While the circuit is closed, a single late answer is not a failure, because either side may have paused briefly. Late
 * answers count as a failure once all answers have been late for a period of `LATE_FOR_MS`.
 */
export interface Circuit {
  /**
   * Decides about the next batch: `send` it and wait for the answer, send a `probe` in its place, whose answer no
   * caller waits for, or `skip` it.
   */
  admit(): 'send' | 'probe' | 'skip'
  /**
   * Closes the circuit. Must be called when the answer to a probe arrives in time and, while the circuit is closed, for
   * every other answer that arrives in time. While the circuit is open, answers to earlier batches must be ignored,
   * because they do not show the server's current state.
   */
  answered(): void
  /** Opens the circuit. Must be called when the server refuses a batch or cannot be reached. */
  failed(): void
  /**
   * Opens the circuit if answers have been late for long enough. A late answer to a probe counts as a failure at once.
   * Must be called when the answer to a batch has not arrived in time.
   */
  late(): void
  readonly isOpen: boolean
}

/**
 * Length of the first pause. A brief stall (a fork in Redis, garbage collection in this process) is usually over after
 * this time.
 */
const FIRST_PAUSE_MS = 10
/** Longest pause between probes. After an outage, requests are sent again within about this time. */
const LONGEST_PAUSE_MS = 200

/**
 * Time after a first late answer at which the next late answer counts as a failure, if no answer in between has arrived
 * in time. Pauses for garbage collection and during the warm-up of a new process are shorter. Until the circuit opens,
 * each request waits for its own timeout.
 */
const LATE_FOR_MS = 20

/** @param monotonic returns the time of a monotonic clock, ms */
export function circuit(monotonic: () => number): Circuit {
  let isOpen = false
  let isProbing = false
  let pauseMs = FIRST_PAUSE_MS
  let probeAt = 0
  /** Time of the first late answer since the last answer that arrived in time. */
  let lateSince: number | undefined

  function failed(): void {
    // If several batches are in flight when the server stops responding, they count as one failure.
    if (isOpen && !isProbing) return
    if (isOpen) pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    isOpen = true
    isProbing = false
    probeAt = monotonic() + pauseMs
  }

  return {
    admit() {
      if (!isOpen) return 'send'
      if (isProbing || monotonic() < probeAt) return 'skip'
      isProbing = true
      return 'probe'
    },
    answered() {
      isOpen = false
      isProbing = false
      pauseMs = FIRST_PAUSE_MS
      lateSince = undefined
    },
    failed,
    late() {
      if (lateSince === undefined) lateSince = monotonic()
      if (isOpen || monotonic() - lateSince >= LATE_FOR_MS) failed()
    },
    get isOpen() {
      return isOpen
    },
  }
}
