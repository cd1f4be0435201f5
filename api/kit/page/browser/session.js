// @ts-check
/** @import { Failure } from './requests.js' */

import { DEFAULT_RETRY_S, RequestFailed, send } from './requests.js'

const SESSION = '/api/v1/session'
const TIMEOUT_MS = 20_000

/**
 * @typedef {object} Session
 * @property {string} subject
 * @property {string | null} username
 * @property {string[]} scopes
 * @property {string} expires_at
 * @property {string} csrf_token
 */

/**
 * Returns what went wrong. Any exception other than RequestFailed is a bug in the page and is logged to the console.
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

/** The current session. Its token is in a cookie that scripts cannot read. */
/** @type {Session | undefined} */
let current

export const session = {
  get current() {
    return current
  },
  /**
   * Returns whether the token has one of the scopes, or the scope `admin`. The page uses this only to decide what to
   * show; the server checks every request.
   * @param {...string} scopes
   */
  may(...scopes) {
    return current?.scopes.some((scope) => scope === 'admin' || scopes.includes(scope)) === true
  },
  /** Reads the session from the server. Returns undefined if nobody is signed in. */
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
 * Sends a request with the session. If the server refuses a change because the user has signed in again on another
 * page, takes over the new session and repeats the request once.
 * @param {string} method
 * @param {string} path the path, beginning with a slash
 * @param {object} [body]
 * @param {Record<string, string>} [more] further headers
 * @returns {Promise<any>} the body of the answer; undefined if it has none
 * @throws {RequestFailed}
 */
export async function ask(method, path, body, more) {
  try {
    return await request(method, path, body, more)
  } catch (error) {
    if (method === 'GET' || !(await isRenewed(error))) throw error
    return await request(method, path, body, more)
  }
}

/**
 * Returns whether the server has refused the request because the user has signed in again on another page, so that the
 * CSRF token of this page is out of date. In this case, takes over the new session.
 * @param {unknown} error
 * @throws {RequestFailed} if another user has signed in, or if the session cannot be read
 */
async function isRenewed(error) {
  if (current === undefined || !(error instanceof RequestFailed) || error.failure.status !== 403) return false
  /** @type {Session | undefined} */
  const renewed = await request('GET', SESSION)
  if (renewed === undefined || renewed.csrf_token === current.csrf_token) return false
  if (renewed.subject !== current.subject) {
    throw new RequestFailed({ ...error.failure, code: '', message: 'Somebody else has signed in on another page. Reload this page.' })
  }
  current = renewed
  return true
}

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @param {Record<string, string>} [more]
 * @returns {Promise<any>}
 */
function request(method, path, body, more) {
  /** @type {Record<string, string>} */
  const headers = method === 'GET' || current === undefined ? { ...more } : { ...more, 'X-CSRF-Token': current.csrf_token }
  return send(path, { method, headers, body, credentials: 'same-origin', cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) })
}
