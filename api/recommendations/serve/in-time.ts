/**
 * Waits for Redis up to a short time limit, and then continues without the value, because an incomplete list is better
 * than none. If this process was busy, the answer may be unread in the socket when the time is over, and Node reads it
 * before immediates run.
 * @returns undefined if the work fails or takes too long
 */
export async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => setImmediate(resolve, undefined), timeoutMs)
  try {
    return await Promise.race([work.catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}
