/**
 * Waits for `work` until the time limit, then throws the error that `late` returns. If `work` is not a promise, no
 * timer is started. Work that is late is not cancelled, and its result or error is ignored.
 */
export async function withDeadline<T>(work: T | Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  if (!(work instanceof Promise)) return work
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
