import { constants } from 'node:os'

type StopSignal = 'SIGTERM' | 'SIGINT'

const SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT']
/** The exit code of a process that a signal ended is this number plus the number of the signal, as in shells. */
const SIGNAL_EXIT_CODE = 128

export interface StopSignals {
  /**
   * Calls `stop` at the first signal, or now if a signal has arrived already. If the same signal arrives again, the
   * process ends immediately.
   */
  stopWith(stop: () => void): void
  /** Restores the default effect of the signals. */
  remove(): void
}

/** A part of the process that stops at a signal. */
interface Part {
  /** Undefined while the part is starting. */
  stop?: () => void
  firstSignal?: StopSignal
}

/** All parts of this process. */
const parts = new Set<Part>()

/**
 * Listens for SIGTERM and SIGINT. Until `stopWith` is called, a signal ends the process immediately, unless another
 * part of the process has something to finish. Without a listener, a process with PID 1, as in a container, would
 * ignore the signal until the container runtime sends SIGKILL.
 */
export function stopSignals(): StopSignals {
  const own: Part = {}

  function onSignal(signal: StopSignal): void {
    const isFirst = own.firstSignal === undefined
    own.firstSignal ??= signal
    if (isFirst && own.stop !== undefined) own.stop()
    else if (isFirst ? [...parts].every(({ stop }) => stop === undefined) : own.firstSignal === signal) {
      process.exit(SIGNAL_EXIT_CODE + constants.signals[signal])
    }
  }

  parts.add(own)
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    stopWith(stop) {
      own.stop = stop
      if (own.firstSignal !== undefined) stop()
    },
    remove() {
      parts.delete(own)
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
