/**
 * Waits for `work` up to the time limit, then throws the error that `late` makes. A value that is not a promise costs
 * no timer. Late work is not cancelled; its result or error is ignored.
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
