import { ApiError, errors } from '../kit/errors.ts'

/**
 * Waits for Redis for a short time, then throws `unavailable`. If this process was busy, the answer may be in the
 * socket, unread, when the time is over. The function therefore waits for a `setImmediate` callback before it throws,
 * because Node reads sockets before it runs these callbacks.
 */
export async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = () => reject(new ApiError(errors.unavailable, { message: 'The view store does not respond in time.' }))
  const timer = setTimeout(() => setImmediate(late), timeoutMs)
  work.then(resolve, reject)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
