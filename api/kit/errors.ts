import { RATE_LIMIT_EXCEEDED } from './rate-limit-exceeded.ts'

/** One entry of the error catalogue. The catalogue is the contract: every code is documented, tested and never reused. */
export interface ErrorDefinition {
  /** The `error` field of the body. */
  readonly code: string
  readonly status: number
  /** True: the same request may succeed later without being changed. */
  readonly retryable: boolean
  /** When it is answered, as one sentence of the documentation. */
  readonly when: string
  /** Default `message`: cause and cure. */
  readonly message: string
}

type Entry = Omit<ErrorDefinition, 'code'>

/** Makes catalogue entries whose code is the property's name. */
export function defineErrors<const T extends Record<string, Entry>>(entries: T): { readonly [Code in keyof T]: ErrorDefinition } {
  const named = Object.entries(entries).map(([code, entry]) => [code, { code, ...entry }])
  return Object.fromEntries(named)
}

/** The codes that every service shares. A service adds its own with `defineErrors`. */
export const errors = defineErrors({
  invalid_request: {
    status: 400,
    retryable: false,
    when: 'a parameter, header or body field is missing, malformed or out of range; `details` names each',
    message: 'The request is not valid: see details.',
  },
  invalid_encoding: {
    status: 400,
    retryable: false,
    when: 'the path, query or body is not valid UTF-8, or text holds NUL or a lone surrogate',
    message: 'Text must be valid UTF-8 without NUL.',
  },
  unauthorized: {
    status: 401,
    retryable: false,
    when: 'a token is required and missing, or the token given is malformed, expired, or not signed for this API',
    message: 'A valid bearer token is required.',
  },
  invalid_api_key: {
    status: 401,
    retryable: false,
    when: 'the X-Api-Key is unknown or was revoked',
    message: 'This X-Api-Key is unknown or was revoked.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    when: 'the token is valid, but its scope, owner or subject does not allow this',
    message: 'This token does not allow the request.',
  },
  not_found: { status: 404, retryable: false, when: 'nothing lives at this address', message: 'There is nothing at this address.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    when: 'the address exists, but not with this method; `Allow` lists those that do',
    message: 'This address does not take this method: see the Allow header.',
  },
  request_timeout: {
    status: 408,
    retryable: true,
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time: send it faster or in smaller parts.',
  },
  idempotency_conflict: {
    status: 409,
    retryable: false,
    when: 'an Idempotency-Key was used before with another body',
    message: 'This Idempotency-Key was used with another body: use a new one.',
  },
  content_too_large: {
    status: 413,
    retryable: false,
    when: 'the body is larger than the address allows',
    message: 'The body is too large.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    when: 'the body has a Content-Type that the address does not take',
    message: 'Send the body as application/json in UTF-8.',
  },
  rate_limit_exceeded: RATE_LIMIT_EXCEEDED,
  headers_too_large: {
    status: 431,
    retryable: false,
    when: 'the request line and headers are larger than 16 KiB',
    message: 'The request line or headers are too large.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    when: 'the server has a fault; it is logged under the request id',
    message: 'The server has a fault. Report it with the request id.',
  },
  not_ready: {
    status: 503,
    retryable: true,
    when: 'the view that answers this is still being built; `Retry-After` says when to come back',
    message: 'The data is still being loaded: try again shortly.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    when: 'a server that this one needs does not answer, or this one is stopping; `Retry-After` says when to come back',
    message: 'The service is unavailable for the moment: try again shortly.',
  },
})

/** One wrong part of a request. */
export interface ErrorDetail {
  /** Where: `query.woeid`, `path.term`, `header.idempotency-key`, `body.top_k[3].count`. */
  readonly path: string
  readonly message: string
}

export interface ApiErrorOptions {
  readonly message?: string
  readonly details?: readonly ErrorDetail[]
  /** Seconds, for 429 and 503. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of the body, e.g. `command_id`. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Logged, never shown. */
  readonly cause?: unknown
}

/** An answer from the catalogue, thrown by handlers and by the kit. */
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

/** Clients that are told to wait come back no sooner than this. */
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
  return error.options.details === undefined ? body : { ...body, details: error.options.details }
}

/** Headers that belong to the error itself: Retry-After on 429 and 503, and what the thrower added. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { status } = error.definition
  const headers: Record<string, string> = { ...error.options.headers }
  if (status === 429 || status === 503) headers['Retry-After'] = String(error.options.retryAfter ?? DEFAULT_RETRY_AFTER_SECONDS)
  return headers
}
