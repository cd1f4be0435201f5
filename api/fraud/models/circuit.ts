import type { CancelTimer } from '../../../runtime/runtime.ts'

/**
 * A circuit breaker for a process that is repeatedly late. While the circuit is open, requests do not wait for the
 * process, and the circuit pings the process. The circuit closes once a ping is answered in time.
 */
export interface Circuit {
  readonly isOpen: boolean
  inTime(): void
  late(): void
  close(): void
}

export const ALWAYS_CLOSED: Circuit = { isOpen: false, inTime: () => undefined, late: () => undefined, close: () => undefined }

export interface CircuitOptions {
  /** Resolves once the process has answered; rejects if the process has ended. */
  ping(): Promise<unknown>
  readonly limitMs: number
  readonly timers: { setTimer(ms: number, callback: () => void): CancelTimer; monotonic(): number }
}

/**
 * Number of late batches in a row that open the circuit. A pause for garbage collection makes only one or two batches
 * late.
 */
const LATE_BATCHES = 3
const ASK_EVERY_MS = 100

export function circuit({ ping, limitMs, timers }: CircuitOptions): Circuit {
  let lateInARow = 0
  let isOpen = false
  let cancel: CancelTimer = () => {}

  async function ask(): Promise<void> {
    const start = timers.monotonic()
    const isInTime = await ping().then(
      () => timers.monotonic() - start <= limitMs,
      () => false,
    )
    if (!isOpen) return
    if (isInTime) reset()
    else cancel = timers.setTimer(ASK_EVERY_MS, () => void ask())
  }

  function reset(): void {
    lateInARow = 0
    isOpen = false
    cancel()
  }

  return {
    get isOpen() {
      return isOpen
    },
    inTime() {
      lateInARow = 0
    },
    late() {
      if (isOpen || ++lateInARow < LATE_BATCHES) return
      isOpen = true
      void ask()
    },
    close: reset,
  }
}
