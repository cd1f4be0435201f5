/**
 * Spares requests the wait for a store that does not answer.
 *
 * closed ──a failure──▶ open ──the pause is over──▶ probing ──an answer in time──▶ closed
 *                        ▲                             │
 *                        └────── a longer pause ◀──a failure
 */
export interface Circuit {
  /** What to do with the next batch: wait for its answer, send it without waiting, or not send it. */
  admit(): 'send' | 'probe' | 'skip'
  /** Tell it of answers to probes, and of others while it is closed: what was sent before it opened says nothing about now. */
  answered(): void
  failed(): void
  readonly isOpen: boolean
}

/** A hiccup (garbage collection, a fork of Redis) is over in this time. */
const FIRST_PAUSE_MS = 10
/** So soon after the store is back it limits again; in an outage this is the only cost. */
const LONGEST_PAUSE_MS = 200

/** @param monotonic ms */
export function circuit(monotonic: () => number): Circuit {
  let isOpen = false
  let isProbing = false
  let pauseMs = FIRST_PAUSE_MS
  let probeAt = 0

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
    },
    failed() {
      // Several batches may be on their way when the store stops: together they are one failure.
      if (isOpen && !isProbing) return
      if (isOpen) pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      isOpen = true
      isProbing = false
      probeAt = monotonic() + pauseMs
    },
    get isOpen() {
      return isOpen
    },
  }
}
