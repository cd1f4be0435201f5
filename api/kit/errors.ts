import { RATE_LIMIT_EXCEEDED } from './rate-limit-exceeded.ts'

/**
 * One entry of the error catalogue. The catalogue is part of the API contract: every code is documented and tested, and
 * no code ever changes its meaning.
 */
export interface ErrorDefinition {
  /** The `error` field of the body. */
  readonly code: string
  readonly status: number
  /** Whether the same request may succeed later. This follows from the status. */
  readonly retryable: boolean
  /** The condition under which the API returns this error, as a clause for the documentation. */
  readonly when: string
  /** Default `message`. It states the cause, and the remedy if the caller has one. */
  readonly message: string
  /** True for an error that is logged although its status is below 500, because it concerns the operator as well. */
  readonly isLogged?: true
}

type Entry = Omit<ErrorDefinition, 'code' | 'retryable'> & { readonly retryable?: never }

const RETRYABLE = new Set([408, 429, 500, 503])

/** Creates entries of the error catalogue. The name of each property becomes the code of its error. */
export function defineErrors<const T extends Record<string, Entry>>(entries: T): { readonly [Code in keyof T]: ErrorDefinition } {
  const named = Object.entries(entries).map(([code, entry]) => [code, { code, retryable: RETRYABLE.has(entry.status), ...entry }])
  return Object.fromEntries(named)
}

/** Errors that every service can return. A service adds its own errors with `defineErrors`. */
export const errors = defineErrors({
  invalid_request: {
    status: 400,
    when: 'a parameter, header or body field is missing, malformed or out of range; `details` names each of them',
    message: 'The request is not valid. See details.',
  },
  invalid_encoding: {
    status: 400,
    when: 'the path, query or body is not valid UTF-8, or text contains NUL or a lone surrogate',
    message: 'Text must be valid UTF-8 without NUL.',
  },
  unauthorized: {
    status: 401,
    when: 'a required token or client certificate is missing or not accepted, or the given token is malformed, expired, or not signed for this API',
    message: 'A valid bearer token is required.',
  },
  invalid_api_key: {
    status: 401,
    when: 'the X-Api-Key is unknown or was revoked',
    message: 'This X-Api-Key is unknown or was revoked.',
  },
  forbidden: {
    status: 403,
    when: 'the scope or subject of the valid token does not allow this, the resource belongs to somebody else, or a request with the session cookie is not from a page of this server',
    message: 'This token does not allow the request.',
  },
  not_found: { status: 404, when: 'nothing exists at this address', message: 'There is nothing at this address.' },
  method_not_allowed: {
    status: 405,
    when: 'the address does not accept this method; `Allow` lists the methods that it accepts',
    message: 'This address does not accept this method. See the Allow header.',
  },
  request_timeout: {
    status: 408,
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time. Send it faster or in smaller parts.',
  },
  idempotency_conflict: {
    status: 409,
    when: 'the Idempotency-Key, or the `transaction_id` of a payment to be scored, was used before for a different request',
    message: 'This Idempotency-Key was used for a different request. Use a new key.',
  },
  content_too_large: {
    status: 413,
    when: 'the body exceeds the maximum size for this address',
    message: 'The body is too large.',
  },
  unsupported_media_type: {
    status: 415,
    when: 'this address does not accept the Content-Type of the body, or the body is compressed',
    message: 'Send the body as application/json in UTF-8.',
  },
  query_too_large: {
    // Not 503, because the same request would exceed the limit again.
    status: 422,
    when: 'the query for this request needs more memory in the history store than one query may use',
    message: 'This request needs too much memory in the history store. Narrow it, for example to a shorter period.',
    isLogged: true,
  },
  rate_limit_exceeded: RATE_LIMIT_EXCEEDED,
  headers_too_large: {
    status: 431,
    when: 'the request line and headers are larger than 16 KiB',
    message: 'The request line or headers are too large.',
  },
  internal_error: {
    status: 500,
    when: 'the server failed unexpectedly; the cause is logged with the request id',
    message: 'The server failed unexpectedly. Report it with the request id.',
  },
  not_ready: {
    status: 503,
    when: 'the data for this request is still being loaded; `Retry-After` says when to try again',
    message: 'The data is still being loaded. Try again shortly.',
  },
  unavailable: {
    status: 503,
    when: 'a required backend does not respond, the request takes too long, or this server is overloaded or shutting down; `Retry-After` says when to try again',
    message: 'The service is temporarily unavailable. Try again shortly.',
  },
})

/** One invalid part of a request. */
export interface ErrorDetail {
  /** The location: `query.woeid`, `path.term`, `header.idempotency-key`, `body.top_k[3].count`. */
  readonly path: string
  readonly message: string
  /** Details that a service adds about this part of the request. */
  readonly [field: string]: unknown
}

export interface ApiErrorOptions {
  readonly message?: string
  readonly details?: readonly ErrorDetail[]
  /** Seconds, for 429 and 503. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Whether a repetition with the same Idempotency-Key would fail in the same way. If so, the answer contains no
   * `command_id`.
   */
  readonly needsNewKey?: boolean
  /** Additional fields of the body, such as `command_id`. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** The cause. It appears in the log, but never in the answer. */
  readonly cause?: unknown
}

/** An error of the catalogue, thrown by handlers and by the kit. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly definition: ErrorDefinition
  readonly options: ApiErrorOptions
  constructor(definition: ErrorDefinition, options: ApiErrorOptions = {}) {
    super(options.message ?? definition.message, { cause: options.cause })
    this.definition = definition
    this.options = options
  }
}

/**
 * Returns the reason of an error for the log and for operators. This is the message of its cause, which callers do not
 * get, or its own message if it has no cause.
 */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}

/** Returns the error for a request with one invalid part. */
export function invalidRequest(path: string, message: string): ApiError {
  return new ApiError(errors.invalid_request, { details: [{ path, message }] })
}

/** Maximum number of `details` in an answer. A longer list would not help the caller. */
export const MAX_DETAILS = 20

const DEFAULT_RETRY_AFTER_SECONDS = 1

export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly request_id: string
  readonly details?: readonly ErrorDetail[]
  readonly [field: string]: unknown
}

export function errorBody(error: ApiError, requestId: string): ErrorBody {
  const body = { error: error.definition.code, message: error.message, request_id: requestId, ...error.options.fields }
  return error.options.details === undefined ? body : { ...body, details: error.options.details.slice(0, MAX_DETAILS) }
}

/** Returns the headers of an error, including Retry-After for 429 and 503. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { status } = error.definition
  const headers: Record<string, string> = { ...error.options.headers }
  if (status === 429 || status === 503) headers['Retry-After'] = String(error.options.retryAfter ?? DEFAULT_RETRY_AFTER_SECONDS)
  return headers
}
