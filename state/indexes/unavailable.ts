const TOO_MANY_REQUESTS = 429
const FIRST_SERVER_ERROR = 500

/** Returns whether the server is overloaded or fails, so that a retry may help. */
export function isUnavailable(status: number): boolean {
  return status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR
}
