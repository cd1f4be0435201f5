import { basicAuthorization } from '../../runtime/basic-authorization.ts'
import { TargetUnavailableError } from '../unavailable.ts'
import { type Exchange, httpExchange } from './exchange.ts'
import { isUnavailable } from './unavailable.ts'

/** One request to the search server. */
export interface SearchCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path and query, beginning with a slash. Names and ids in it must be encoded (`pathPart`). */
  readonly path: string
  /** The body of the request. An object is sent as JSON. Text is sent unchanged and must consist of lines of JSON. */
  readonly body?: object | string
  /** Default 10 s. */
  readonly timeoutMs?: number
  /** Maximum size of the answer in bytes. Default 32 MiB. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

export interface SearchAnswer {
  /** HTTP status: 200 to 299, or 400 to 499 except 429. */
  readonly status: number
  /** The parsed body. Its structure depends on the endpoint. */
  // biome-ignore lint/suspicious/noExplicitAny: the callers know the form of their endpoint's answer
  readonly body: any
}

/** Calls a search server over HTTP. */
export interface SearchClient {
  /**
   * @throws TargetUnavailableError when there is no complete answer (for example because the request was aborted), when
   * the answer is a redirect or larger than `maxBytes`, or when the server is overloaded or fails; a retry may help
   */
  call(call: SearchCall): Promise<SearchAnswer>
}

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Maximum number of characters of a server's error that an error message quotes. */
const REASON_CHARACTERS = 300

/**
 * @param url address of the server, which may contain a user and a password
 * @param exchange sends the requests; tests replace it
 */
export function searchClient(url: string, exchange: Exchange = httpExchange(new URL(url).protocol)): SearchClient {
  const address = new URL(url)
  const base = `${address.origin}${address.pathname.replace(/\/$/, '')}`
  const authorization = basicAuthorization(address)

  function headersFor(body: SearchCall['body']): Record<string, string> {
    return {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json' }),
    }
  }

  async function send({ method, path, body, timeoutMs = TIMEOUT_MS, maxBytes = MAX_ANSWER_BYTES, signal }: SearchCall) {
    const limit = AbortSignal.timeout(timeoutMs)
    return await exchange(base + path, {
      method,
      headers: headersFor(body),
      body: typeof body === 'object' ? JSON.stringify(body) : body,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      maxBytes,
    })
  }

  async function call(request: SearchCall): Promise<SearchAnswer> {
    const what = `${request.method} ${request.path.replace(/\?.*/, '')}`
    const { status, text } = await send(request).catch((error: Error) => {
      throw new TargetUnavailableError(`the search server gave no usable answer to ${what}: ${error.message}`, { cause: error })
    })
    if (isUnavailable(status)) {
      throw new TargetUnavailableError(`the search server answered ${what} with ${status}: ${text.slice(0, REASON_CHARACTERS)}`)
    }
    return { status, body: parsed(text) }
  }

  return { call }
}

/** Encodes a name or an id for a path. */
export function pathPart(text: string): string {
  return encodeURIComponent(text)
}

function parsed(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return { error: { type: 'not_json', reason: text.slice(0, REASON_CHARACTERS) } }
  }
}
