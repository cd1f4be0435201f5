/**
 * Returns the result of `work`, or throws the error that `late` returns if the result does not arrive within the time
 * limit. If `work` is not a promise, starts no timer. Does not cancel late work, and ignores its result or error.
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
