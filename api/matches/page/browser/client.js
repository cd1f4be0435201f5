// @ts-check

const TOKEN_KEY = 'millrace-match-token'
/** Waits this long if the server gives no time. */
const DEFAULT_RETRY_S = 5
const ID_BYTES = 16

/**
 * A request that did not succeed.
 * @typedef {object} Failure
 * @property {number} status 0 if the server did not answer
 * @property {string} code
 * @property {string} message
 * @property {string} details
 * @property {number} retryAfterS
 * @property {string} requestId
 */

export class RequestFailed extends Error {
  /** @param {Failure} failure */
  constructor(failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** The token is in the storage of the tab: never in an address, which histories and logs keep. */
export const session = {
  get token() {
    return sessionStorage.getItem(TOKEN_KEY)
  },
  /** @param {string} token */
  start(token) {
    sessionStorage.setItem(TOKEN_KEY, token)
  },
  end() {
    sessionStorage.removeItem(TOKEN_KEY)
  },
}

/**
 * Reads who a token is for. The page only decides what to show by it; the server checks every request.
 * @param {string} token
 * @returns {{ userId: string, isAdmin: boolean } | undefined} undefined if the text is no token
 */
export function claimsOf(token) {
  try {
    const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (one) => one.charCodeAt(0))))
    const scopes = String(claims.scope ?? '').split(' ')
    return { userId: String(claims.sub), isAdmin: scopes.includes('admin') }
  } catch {
    return undefined
  }
}

/**
 * Calls the API with the session's token.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>} the body of the answer
 * @throws {RequestFailed}
 */
export async function ask(method, path, body) {
  const headers = new Headers({ Authorization: `Bearer ${session.token ?? ''}` })
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (method === 'POST') headers.set('Idempotency-Key', randomId())
  const init = { method, headers, body: body === undefined ? null : JSON.stringify(body), credentials: /** @type {const} */ ('omit') }
  const answer = await fetch(`/v1/${path}`, init).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  if (answer === undefined || text === undefined) throw failed(0, {})
  const json = parsed(text)
  if (answer.ok) return json
  throw failed(answer.status, json, Number(answer.headers.get('Retry-After')))
}

/**
 * @param {number} status
 * @param {any} body
 * @param {number} [retryAfter]
 */
function failed(status, body, retryAfter) {
  const details = Array.isArray(body?.details) ? body.details : []
  return new RequestFailed({
    status,
    code: String(body?.error ?? ''),
    message: String(body?.message ?? 'Something went wrong.'),
    details: details.map((/** @type {any} */ { path, message }) => `${path} ${message}`).join('; '),
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
