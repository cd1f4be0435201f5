const TOO_MANY_REQUESTS = 429
const FIRST_SERVER_ERROR = 500

/** Returns whether the status means that the server is overloaded or has failed, so that a retry may help. */
export function isUnavailable(status: number): boolean {
  return status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR
}
