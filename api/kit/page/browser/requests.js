// @ts-check

/** Retry delay if the answer has no Retry-After header. */
export const DEFAULT_RETRY_S = 5
const ID_BYTES = 16
/** How long after a failed request the same request counts as a repetition. */
const REPEATED_WITHIN_MS = 5 * 60_000
/** Answers with this status or a higher status do not show whether the request has taken effect. */
const SERVER_FAILED = 500

/**
 * A request that did not succeed.
 * @typedef {object} Failure
 * @property {number} status 0 if no answer from the server arrived
 * @property {string} code
 * @property {string} message
 * @property {any[]} details
 * @property {number} retryAfterS
 * @property {string} requestId
 * @property {boolean} [mayTakeEffect] whether the answer has a `command_id`. The change may then still take effect.
 */

export class RequestFailed extends Error {
  /** @param {Failure} failure */
  constructor(failure) {
    super(failure.message)
    this.failure = failure
  }
}

/**
 * The last request that may change something, if its outcome is unknown.
 * @type {{ asked: string, key: string, until: number } | undefined}
 */
let unsettled

/**
 * Sends a request. A body is sent as JSON. A request that may change something gets an Idempotency-Key. If the user
 * repeats a request whose outcome is unknown, the repetition gets the same key, so that it takes effect only once. This
 * applies for five minutes, and only if the user has requested no other change in between.
 * @param {string} path the path, beginning with a slash
 * @param {{ method: string, headers?: Record<string, string>, body?: object | undefined } & Omit<RequestInit, 'method' | 'headers' | 'body'>} request
 * @returns {Promise<any>} the body of the answer; undefined if it has none
 * @throws {RequestFailed}
 */
export async function send(path, { method, headers: given = {}, body, ...more }) {
  const headers = new Headers(given)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  const content = body === undefined ? null : JSON.stringify(body)
  if (method === 'GET') return await exchange(path, { ...more, method, headers, body: content })
  const asked = JSON.stringify([method, path, headers.get('If-Match'), content])
  const key = unsettled?.asked === asked && performance.now() < unsettled.until ? unsettled.key : randomId()
  unsettled = undefined
  headers.set('Idempotency-Key', key)
  try {
    return await exchange(path, { ...more, method, headers, body: content })
  } catch (error) {
    if (error instanceof RequestFailed && !isSettled(error.failure)) {
      unsettled = { asked, key, until: performance.now() + REPEATED_WITHIN_MS }
    }
    throw error
  }
}

/** @param {Failure} failure */
function isSettled({ status }) {
  return status !== 0 && status < SERVER_FAILED
}

/**
 * @param {string} path
 * @param {RequestInit} init
 * @returns {Promise<any>}
 */
async function exchange(path, init) {
  const answer = await fetch(path, init).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  if (answer === undefined || text === undefined) throw failed(0, {})
  const json = parsed(text)
  // A body that is not JSON is not from the server. It may be the sign-in page of a network or of a proxy.
  if (answer.ok && text !== '' && json === undefined) throw failed(0, {})
  if (answer.ok) return json
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
    mayTakeEffect: body?.command_id !== undefined,
  })
}

/**
 * @param {string} text
 * @returns {any} undefined if the text is empty or not JSON
 */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a random id. `crypto.randomUUID` is not used, because browsers do not offer it to pages without TLS. */
function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(ID_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
