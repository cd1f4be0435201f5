// @ts-check
import { send } from '../../../kit/page/browser/requests.js'

const TOKEN_KEY = 'millrace-match-token'
/**
 * Time limit of a request. Swipes are sent one after another, so a request without an answer would delay all later
 * swipes.
 */
const TIMEOUT_MS = 20_000

/**
 * Keeps the token in the session storage of the tab. The token is never in an address, because histories and logs keep
 * addresses.
 */
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
 * Reads the user id from a token, and whether the user is an administrator. The page uses this data only to decide what
 * to show. The server checks every request.
 * @param {string} token
 * @returns {{ userId: string, isAdmin: boolean } | undefined} undefined if the text is not a token
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
 * @returns {Promise<any>} the body of the answer; an empty object if the answer has none
 * @throws {RequestFailed}
 */
export async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${session.token ?? ''}` }
  return (await send(`/v1/${path}`, { method, headers, body, credentials: 'omit', signal: AbortSignal.timeout(TIMEOUT_MS) })) ?? {}
}
