/**
 * A signal that arrives within this time after the first signal counts as a repetition of it. Ctrl-C in a terminal
 * reaches a command several times: from the terminal, and from npm and `run.mjs`, which forward their signals.
 */
const SAME_SIGNAL_MS = 1_000

/**
 * Calls `stop` at the first SIGINT, SIGTERM or SIGHUP. A later SIGINT or SIGTERM ends the process immediately, unless
 * it counts as a repetition. A later SIGHUP is ignored, because it only means that the terminal was closed while the
 * command was stopping.
 */
export function onStopSignal(stop: () => void): void {
  let first: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (first === undefined) {
        first = performance.now()
        stop()
      } else if (signal !== 'SIGHUP' && performance.now() - first > SAME_SIGNAL_MS) process.exit(1)
    })
  }
}
