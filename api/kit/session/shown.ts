import { ApiError, errors } from '../errors.ts'
import type { SessionCookie } from './cookie.ts'
import { CSRF_HEADER, isCsrfTokenOf } from './csrf.ts'
import { isForeignPage, isOwnPage, type RequestOrigin } from './origin.ts'

/** The session that the cookie of a request identifies. */
export interface ShownSession {
  /** The token that the page signed in with. It is not verified yet. */
  readonly token: string
  /** Why the cookie alone does not permit this request; undefined if the cookie permits the request. */
  readonly refusal: ApiError | undefined
  /**
   * Like `refusal`, but for a route that accepts forms on this server's own pages. Forms cannot send the CSRF header,
   * so such a route accepts forms without it.
   */
  readonly formRefusal: ApiError | undefined
  /** The Set-Cookie header that ends the session. */
  readonly clear: string
}

export interface SessionRequest extends RequestOrigin {
  readonly method: string
}

/** Methods that change nothing. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Reads a request's session. Browsers send cookies on their own. The cookie therefore shows who uses the browser, but
 * not that this person intended the request. A read from a page of another origin is treated as anonymous. A request
 * that changes something also needs a header that only this server's own pages can send.
 */
export function shownSession(request: SessionRequest, cookie: SessionCookie, publicUrl: string): ShownSession | undefined {
  const token = cookie.read(request.header('cookie'))
  if (token === undefined) return undefined
  const isForeign = isForeignPage(request, publicUrl)
  const { clear } = cookie
  const permitted = { token, refusal: undefined, formRefusal: undefined, clear }
  if (SAFE_METHODS.has(request.method)) return isForeign ? undefined : permitted
  if (isForeign) return { ...permitted, ...always(refused('A page of another origin must not use the session of this origin.')) }
  if (isCsrfTokenOf(token, request.header(CSRF_HEADER))) return permitted
  const missing = refused(MISSING_HEADER)
  return { ...permitted, ...always(missing), ...(isOwnPage(request, publicUrl) && { formRefusal: undefined }) }
}

function always(refusal: ApiError): Pick<ShownSession, 'refusal' | 'formRefusal'> {
  return { refusal, formRefusal: refusal }
}

const MISSING_HEADER =
  'A request with a session must repeat the csrf_token of GET /api/v1/session in the header X-CSRF-Token. Programs send a bearer token instead.'

function refused(message: string): ApiError {
  return new ApiError(errors.forbidden, { message })
}
