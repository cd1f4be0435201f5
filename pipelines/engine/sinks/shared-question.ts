/**
 * Lets concurrent callers share one request. No caller joins a request that has already started, so the answer is never
 * older than the call.
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
