/**
 * Waits for `work` at most so long, then throws what `late` makes. Work that is done at once pays nothing.
 * Nothing is cancelled: what comes later is dropped, its failure too.
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
