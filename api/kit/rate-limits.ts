import type { ApiError } from './errors.ts'
import type { LimitedCaller } from './limited-caller.ts'

/** The parts of a request that rate limits use. */
export interface IncomingRequest {
  readonly method: string
  /** The path as the router parses it, or the path that the route counts as. */
  readonly path: string
  readonly apiKey: string | undefined
  readonly forwardedFor: string | undefined
  /** The address of the socket's peer. */
  readonly remote: string | undefined
  /** The subject of the token, if the token is valid and the subject is a user id. */
  readonly userId: string | undefined
  /** The name in the client certificate, if the route accepted the certificate. */
  readonly certificate?: string
  readonly scopes: ReadonlySet<string>
  /** The number of requests to count. Default 1. */
  readonly units?: number
}

/** What the rate limits decide about one request. */
export interface Admission {
  readonly caller: LimitedCaller
  /** Headers to add to the answer, even if the answer is an error. */
  readonly headers: Readonly<Record<string, string>>
  /** If defined, the app responds with this error instead of running the handler. */
  readonly refusal: ApiError | undefined
}

/** The properties of a route that rate limits use. */
export interface LimitedRoute {
  /** In upper case. */
  readonly method: string
  /** The path, in which a parameter is a segment in braces. */
  readonly path: string
  /** The path that rules are compared with. If undefined, rules are compared with the path of the request. */
  readonly countsAs: string | undefined
}

/** Rate limits in front of the app's routes. The kit uses only this interface of the rate limiter. */
export interface RequestLimits {
  /** Returns whether a running service declares this path as limited. */
  covers(path: string): boolean
  /** Receives every route of the app before the first request. */
  addRoute?(route: LimitedRoute): void
  /** Counts a request. Never throws or rejects. */
  admit(request: IncomingRequest): Promise<Admission>
}

/** Descriptions of the headers that an answer gets if a rule with the action `reject` applies to the request. */
export const RATE_LIMIT_HEADERS: Readonly<Record<string, string>> = {
  'X-RateLimit-Limit': 'The limit of the strictest rule, in requests per window. All rate-limit headers describe this rule.',
  'X-RateLimit-Remaining': 'Requests left.',
  'X-RateLimit-Reset': 'The time at which the window ends, or at which the bucket is full again, in epoch seconds.',
  'X-RateLimit-Policy': '`<limit>;w=<window seconds>`',
  RateLimit: 'Requests left and time until the reset, as a structured field: `"<rule>";r=<left>;t=<seconds>`.',
  'RateLimit-Policy': '`"<rule>";q=<limit>;w=<window seconds>`',
}
