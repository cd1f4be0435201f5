// @ts-check

const SESSION = '/api/v1/session'
/** Waits this long if the server gives no time. */
const DEFAULT_RETRY_S = 5
const ID_BYTES = 16
const TIMEOUT_MS = 20_000

/**
 * A request that did not succeed.
 * @typedef {object} Failure
 * @property {number} status 0 if the server did not answer
 * @property {string} code
 * @property {string} message
 * @property {any[]} details
 * @property {number} retryAfterS
 * @property {string} requestId
 */

/**
 * @typedef {object} Session
 * @property {string} subject
 * @property {string | null} username
 * @property {string[]} scopes
 * @property {string} expires_at
 * @property {string} csrf_token
 */

export class RequestFailed extends Error {
  /** @param {Failure} failure */
  constructor(failure) {
    super(failure.message)
    this.failure = failure
  }
}

/**
 * Returns what went wrong. An exception that is no refusal of the server is a bug of the page, which the console shows.
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  if (error instanceof RequestFailed) return error.failure
  reportError(error)
  return {
    status: 0,
    code: 'page_failed',
    message: 'The page failed. Reload it.',
    details: [],
    retryAfterS: DEFAULT_RETRY_S,
    requestId: '',
  }
}

/** The token itself is in a cookie that scripts cannot read. */
/** @type {Session | undefined} */
let current

export const session = {
  get current() {
    return current
  },
  /**
   * Returns whether the token has one of the scopes. The page only decides what to show by it; the server checks every
   * request.
   * @param {...string} scopes
   */
  may(...scopes) {
    return current?.scopes.some((scope) => scope === 'admin' || scopes.includes(scope)) === true
  },
  /** Asks the server who is signed in. */
  async read() {
    current = await ask('GET', SESSION).catch((error) => {
      if (failureOf(error).status === 401) return undefined
      throw error
    })
    return current
  },
  /** @param {string} token */
  async start(token) {
    current = await ask('POST', SESSION, { token })
  },
  async end() {
    await ask('DELETE', SESSION)
    current = undefined
  },
  /** Forgets the session after the server has refused it. */
  forget() {
    current = undefined
  },
}

/**
 * Calls the server with the session.
 * @param {string} method
 * @param {string} path from the root
 * @param {object} [body]
 * @returns {Promise<any>} the body of the answer; undefined if it has none
 * @throws {RequestFailed}
 */
export async function ask(method, path, body) {
  const headers = new Headers()
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (method !== 'GET' && current !== undefined) headers.set('X-CSRF-Token', current.csrf_token)
  if (method === 'POST') headers.set('Idempotency-Key', randomId())
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    credentials: 'same-origin',
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  if (answer === undefined || text === undefined) throw failed(0, {})
  const json = parsed(text)
  if (answer.ok) return text === '' ? undefined : json
  throw failed(answer.status, json, Number(answer.headers.get('Retry-After')))
}

/**
 * @param {number} status
 * @param {any} body
 * @param {number} [retryAfter]
 */
function failed(status, body, retryAfter) {
  return new RequestFailed({
    status,
    code: String(body?.error ?? ''),
    message: status === 0 ? 'The server cannot be reached. Check your connection.' : String(body?.message ?? 'Something went wrong.'),
    details: Array.isArray(body?.details) ? body.details : [],
    retryAfterS: Math.max(1, retryAfter || DEFAULT_RETRY_S),
    requestId: String(body?.request_id ?? 'unknown'),
  })
}

/** @param {string} text */
function parsed(text) {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return {}
  }
}

/** Pages without TLS have no `crypto.randomUUID`. */
function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(ID_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
