/**
 * Lets simultaneous callers share one answer. The request starts only after the last of these callers has called, so
 * its answer is current for each of them.
 */
export function sharedQuestion<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined

  async function askNext(): Promise<T> {
    await last.catch(() => {}) // Only the callers of the failed request get its error.
    next = undefined
    const asked = ask()
    last = asked
    return asked
  }

  return () => {
    next ??= askNext()
    return next
  }
}
