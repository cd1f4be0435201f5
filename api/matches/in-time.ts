import { ApiError, errors } from '../kit/errors.ts'

/**
 * Waits for Redis up to a short time limit, then throws `unavailable`. If this process was busy, the answer may be
 * unread in the socket when the time is over. The function therefore awaits an immediate before it throws, because Node
 * reads the socket before immediates run.
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
