import { ApiError, errors } from '../../../kit/errors.ts'

/**
 * Limits the concurrent calls of a function. The returned function throws ApiError `unavailable` while `places` calls
 * are running. Running more calls at once would only make all callers wait longer.
 */
export function atMost<A extends readonly unknown[], T>(places: number, work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let running = 0
  return async function workInPlace(...args) {
    if (running >= places) throw new ApiError(errors.unavailable, { message: 'Too many searches are running now. Try again shortly.' })
    running++
    try {
      return await work(...args)
    } finally {
      running--
    }
  }
}
