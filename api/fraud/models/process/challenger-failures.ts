import type { ModelNumbers } from '../wire.ts'

/**
 * Returns a function that reports failures of challengers. The function reports only the first failure of each
 * challenger, because a challenger that fails once may fail in every batch.
 */
export function challengerFailures(report: (line: string) => void): (challenger: ModelNumbers, error: Error) => void {
  let reported: string | undefined
  return function challengerFailed(challenger, { message }) {
    const failed = challenger.join()
    if (failed === reported) return
    reported = failed
    report(`the challenger cannot score some transactions: ${message}`)
  }
}
