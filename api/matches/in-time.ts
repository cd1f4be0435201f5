import { ApiError, errors } from '../kit/errors.ts'

/**
 * Waits for Redis, but only for a short time, and then throws `unavailable`. If this process was busy, the answer may
 * already be in the socket, unread, when the time is over. Node reads sockets before it runs `setImmediate` callbacks,
 * so the function throws in such a callback.
 */
export async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = () => reject(new ApiError(errors.unavailable, { message: 'The view store did not respond in time. Try again shortly.' }))
  const timer = setTimeout(() => setImmediate(late), timeoutMs)
  work.then(resolve, reject)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
