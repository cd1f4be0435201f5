import type { IncomingMessage, ServerResponse } from 'node:http'
import { linkFlow } from '../../schemas/links/flow.ts'
import type { Click } from '../../schemas/links/types.ts'
import { type LinkRecord, readLink } from '../../state/views/links/links.ts'
import { JSON_TYPE } from '../kit/answer.ts'
import { clientAddress, isFrom, type TrustedProxies } from '../kit/client-address.ts'
import { ApiError, errorBody, errorHeaders, errors } from '../kit/errors.ts'
import type { FactBuffer } from '../kit/fact-buffer.ts'
import type { Facts } from '../kit/facts.ts'
import { COMMON_HEADERS, NOT_CACHEABLE, optionsHeaders } from '../kit/headers.ts'
import type { Logger } from '../kit/logging.ts'
import type { HttpMetrics } from '../kit/metrics.ts'
import { caughtUp } from '../kit/readiness.ts'
import { requestIdFrom } from '../kit/request-id.ts'
import type { FrontHandler } from '../kit/server.ts'
import type { ValueReader } from '../kit/shared-reads.ts'
import { isNavigation, isPrefetchPurpose } from '../kit/speculative.ts'
import { isCode, isReserved } from './codes.ts'
import type { ShortDomain, ShortDomains } from './domains.ts'
import { ERROR_PAGE_HEADERS, errorPage } from './error-page.ts'
import { linksErrors } from './errors.ts'
import { isExpired } from './link-json.ts'

export interface RedirectDeps {
  readonly views: ValueReader
  readonly facts: Facts
  readonly clicks: Pick<FactBuffer<string, Click>, 'offer'>
  readonly domains: ShortDomains
  readonly trusted: TrustedProxies
  /**
   * Lower-case name of the header in which trusted proxies send the visitor's country; undefined if they send no
   * country.
   */
  readonly countryHeader: string | undefined
  readonly metrics: HttpMetrics
  readonly log: Logger
  /** Epoch ms. */
  readonly now: () => number
}

export interface Redirects {
  /** Handles every request on the port that serves only the short domains. */
  readonly listener: FrontHandler
  /** Runs before the API, and handles only requests for short links on a short domain. */
  readonly front: FrontHandler
}

/** The route's label in metrics. */
const ROUTE = '/{short_code}'
const METHODS = ['GET', 'HEAD', 'OPTIONS']
/**
 * Maximum time for which caches may keep the redirect of a link without analytics. During this time, a browser may
 * still follow the cached redirect after the link was changed or deleted.
 */
const PERMANENT_SECONDS = 3_600
const MS_PER_SECOND = 1_000
/** Maximum lengths of the header values that a click event stores. */
const MAX_USER_AGENT = 512
const MAX_REFERRER = 2_048
const COUNTRY = /^[A-Za-z0-9]{2}$/

/**
 * Creates handlers that redirect short links outside the app. These requests are by far the most frequent, and need
 * almost no part of the app.
 */
export function redirects({ views, facts, clicks, domains, trusted, countryHeader, metrics, log, now }: RedirectDeps): Redirects {
  /**
   * The time of the last click, epoch ms, and the same time in ISO 8601. Both are cached, because many clicks share a
   * millisecond.
   */
  let stampedAt = -1
  let stamp = ''

  function timestamp(at: number): string {
    if (at !== stampedAt) {
      stampedAt = at
      stamp = new Date(at).toISOString()
    }
    return stamp
  }

  async function find(code: string): Promise<LinkRecord | undefined> {
    return caughtUp(await readLink(views, facts.partitionOf(linkFlow.commands, code), code))
  }

  async function answer(request: IncomingMessage, response: ServerResponse, domain: ShortDomain | undefined, code: string): Promise<void> {
    const startedAt = performance.now()
    let status: number
    try {
      if (request.method === 'OPTIONS') status = sendOptions(request, response)
      else if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw new ApiError(errors.method_not_allowed, { headers: { Allow: METHODS.join(', ') } })
      } else {
        const link = domain === undefined || !isCode(code) ? undefined : await find(code)
        status = redirect(request, response, code, link?.domain === domain?.host ? link : undefined)
      }
    } catch (error) {
      status = await sendError(request, response, error)
    }
    metrics.observe(request.method as string, ROUTE, status, (performance.now() - startedAt) / MS_PER_SECOND)
  }

  function redirect(request: IncomingMessage, response: ServerResponse, code: string, link: LinkRecord | undefined): number {
    const at = now()
    if (link === undefined || !link.isActive) throw new ApiError(linksErrors.url_not_found)
    const hasExpired = isExpired(link, at)
    const location = hasExpired ? link.expiredUrl : link.longUrl
    if (location === undefined) throw new ApiError(linksErrors.url_not_found)
    // The target of an expired link may change, so its redirect must not be cached.
    if (!link.analytics && !hasExpired) return send(request, response, 301, location, `public, max-age=${keptSeconds(link, at)}`)
    const status = send(request, response, 302, location, 'private, no-store')
    if (link.analytics && request.method === 'GET' && !isPrefetch(request)) count(request, code, at)
    return status
  }

  function count({ headers, socket }: IncomingMessage, code: string, at: number): void {
    const forwardedFor = headers['x-forwarded-for'] as string | undefined
    clicks.offer(code, {
      short_code: code,
      timestamp: timestamp(at),
      ip: clientAddress(socket.remoteAddress, forwardedFor, trusted),
      user_agent: (headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT),
      referrer: (headers.referer ?? '').slice(0, MAX_REFERRER),
      country: countryHeader === undefined ? '' : countryOf(headers[countryHeader], socket.remoteAddress),
    })
  }

  /**
   * Returns the country that a trusted proxy reports. If the result is empty, the pipeline looks up the country of the
   * visitor's address.
   */
  function countryOf(given: string | string[] | undefined, remote: string | undefined): string {
    return typeof given === 'string' && COUNTRY.test(given) && isFrom(remote, trusted) ? given.toUpperCase() : ''
  }

  async function sendError(request: IncomingMessage, response: ServerResponse, error: unknown): Promise<number> {
    const known = error instanceof ApiError ? error : new ApiError(errors.internal_error, { cause: error })
    const { status, code } = known.definition
    const requestId = requestIdOf(request)
    metrics.countError(code)
    if (status >= 500) {
      const cause = known.cause instanceof Error ? known.cause.message : undefined
      log.warn({ request_id: requestId, route: ROUTE, error: code, cause }, 'request_refused')
    }
    const isPage = isNavigation((name) => request.headers[name] as string | undefined)
    const body = isPage ? await errorPage(known, requestId) : JSON.stringify(errorBody(known, requestId))
    const form = isPage ? ERROR_PAGE_HEADERS : { 'Content-Type': JSON_TYPE }
    const headers = { ...COMMON_HEADERS, 'Cache-Control': NOT_CACHEABLE, ...form, ...errorHeaders(known) }
    response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), 'X-Request-Id': requestId })
    response.end(request.method === 'HEAD' ? undefined : body)
    return status
  }

  function start(request: IncomingMessage, response: ServerResponse, domain: ShortDomain | undefined, code: string): true {
    // The body of the request is discarded, because an unread body would block the connection for the next request.
    request.resume()
    void answer(request, response, domain, code)
    return true
  }

  return {
    listener(request, response) {
      const { host, path } = targetOf(request)
      return start(request, response, domains.byHost(host), codeOf(path))
    },
    front(request, response) {
      const { host, path } = targetOf(request)
      const domain = domains.byHost(host)
      if (domain === undefined) return false
      const code = codeOf(path)
      return isCode(code) && !isReserved(code) && start(request, response, domain, code)
    },
  }
}

/**
 * Sends a redirect. The headers are a flat list in which names and values alternate, so that `writeHead` need not copy
 * them.
 */
function send(request: IncomingMessage, response: ServerResponse, status: 301 | 302, location: string, cacheControl: string): number {
  const requestId = requestIdOf(request)
  const forAll = ['Access-Control-Allow-Origin', '*', 'Content-Length', '0'] as const
  response.writeHead(status, ['Location', location, 'Cache-Control', cacheControl, 'X-Request-Id', requestId, ...forAll])
  response.end()
  return status
}

function sendOptions(request: IncomingMessage, response: ServerResponse): number {
  const isPreflight = request.headers['access-control-request-method'] !== undefined
  response.writeHead(204, { ...COMMON_HEADERS, ...optionsHeaders(METHODS, isPreflight), 'X-Request-Id': requestIdOf(request) })
  response.end()
  return 204
}

function requestIdOf({ headers }: IncomingMessage): string {
  return requestIdFrom(headers['x-request-id'] as string | undefined)
}

function keptSeconds({ expiresAt }: LinkRecord, now: number): number {
  if (expiresAt === undefined) return PERMANENT_SECONDS
  return Math.min(PERMANENT_SECONDS, Math.floor((expiresAt - now) / MS_PER_SECOND))
}

/** Returns whether a browser requests the link before the user has clicked it. */
function isPrefetch({ headers }: IncomingMessage): boolean {
  return isPrefetchPurpose(headers['sec-purpose'] ?? headers.purpose ?? headers['x-purpose'] ?? headers['x-moz'])
}

/** Matches a request target in absolute form. Clients send such targets to proxies. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/**
 * Returns the host and the path that a request is for. The host of a target in absolute form takes precedence over the
 * Host header (RFC 9112, 3.2.2).
 */
function targetOf({ url, headers }: IncomingMessage): { readonly host: string; readonly path: string } {
  const target = url as string
  const absolute = target.startsWith('/') ? null : ABSOLUTE.exec(target)
  if (absolute === null) return { host: headers.host ?? '', path: target }
  return { host: absolute[1], path: target.slice(absolute[0].length) }
}

/**
 * Returns the path without its leading slash and without the query. Decodes the path, because a percent-encoded letter,
 * digit, `-` or `_` is equivalent to the character itself (RFC 3986, 6.2.2.2), and some programs encode `_` in links.
 */
function codeOf(url: string): string {
  const end = url.indexOf('?')
  const code = end < 0 ? url.slice(1) : url.slice(1, end)
  return code.includes('%') ? decoded(code) : code
}

/** Decodes a text. Returns the text unchanged if it is not valid percent-encoded UTF-8; it is then never a code. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
