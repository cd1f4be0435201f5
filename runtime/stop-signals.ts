import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** A process that a signal has ended reports this number plus that of the signal, as shells do. */
const SIGNAL_EXIT_CODE = 128

export interface StopSignals {
  /** Calls `stop` at the first signal from now on. A second signal ends the process immediately. */
  stopWith(stop: () => void): void
  /** Restores the default effect of the signals. */
  remove(): void
}

/**
 * Listens for SIGTERM and SIGINT. Until `stopWith` is called, a signal ends the process immediately, because there is
 * nothing to finish yet. Without a listener, a process with PID 1, as in a container, would ignore the signal until its
 * runtime sends SIGKILL.
 */
export function stopSignals(): StopSignals {
  let stop: (() => void) | undefined

  function onSignal(signal: (typeof SIGNALS)[number]): void {
    if (stop === undefined) process.exit(SIGNAL_EXIT_CODE + constants.signals[signal])
    const stopOnce = stop
    stop = undefined
    stopOnce()
  }

  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    stopWith(value) {
      stop = value
    },
    remove() {
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
