import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import { OpenAPIHono } from '@hono/zod-openapi'
import { type Answer, jsonAnswer } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import { authorize, mayBeAnonymous, type ShownCertificate, type UserIdForm } from './auth/authorize.ts'
import type { Caller, TokenVerifier } from './auth/verify.ts'
import { assertNotCompressed, DEFAULT_BODY_BYTES, readJsonBody } from './body.ts'
import { type BodyLimits, bodyPieces, incomingBody, onePiece, wholeBody } from './body-stream.ts'
import { type Call, RoutedCall } from './call.ts'
import { type AddressRanges, addressRanges, clientAddress, LOOPBACK, type TrustedProxies } from './client-address.ts'
import { answering } from './commands/idempotency.ts'
import { variantFor } from './conditional.ts'
import { withDeadline } from './deadline.ts'
import type { DirectRoutes, Sent } from './direct-routes.ts'
import { documentationRoutes } from './docs.ts'
import { ApiError, errorBody, errorHeaders, errors } from './errors.ts'
import { COMMON_HEADERS, isForEverybody, NOT_CACHEABLE, optionsHeaders, SESSION_HEADERS } from './headers.ts'
import { operationsService } from './health.ts'
import { assertValid, check, expectedVersionFrom, idempotencyKeyFrom, queryOf } from './input.ts'
import { type Logger, lazyChild } from './logging.ts'
import type { HttpMetrics } from './metrics.ts'
import { describeDocumented, describeRoute } from './openapi.ts'
import { errorPage } from './page/error-page.ts'
import { withoutTrailingSlash } from './page/trailing-slash.ts'
import { pathTable } from './paths.ts'
import type { RequestLimits } from './rate-limits.ts'
import type { Readiness } from './readiness.ts'
import { requestIdFrom } from './request-id.ts'
import type { ArrivingBody, AuthRule, BoundRoute, StreamedBody } from './route.ts'
import type { ServiceRoutes } from './service-routes.ts'
import { sessionCookie } from './session/cookie.ts'
import { isForeignPage } from './session/origin.ts'
import { sessionService } from './session/service.ts'
import { type ShownSession, shownSession } from './session/shown.ts'
import { isNavigation, isSpeculative } from './speculative.ts'
import { watchedBody } from './streamed-answer.ts'
import { assertCleanUrl } from './text.ts'

export interface AppOptions {
  readonly services: readonly ServiceRoutes[]
  readonly verifier: TokenVerifier
  readonly log: Logger
  readonly metrics: HttpMetrics
  readonly readiness: Readiness
  readonly answers: AnswerCache
  /** Receives the routes that the server may call without the framework. If undefined, there are no such routes. */
  readonly direct?: DirectRoutes
  /** The rate limits. If undefined, no request is limited. */
  readonly limits?: RequestLimits
  /** Returns what the client certificate of a connection proves. If undefined, client certificates are ignored. */
  certificateOf?(socket: Socket): ShownCertificate | undefined
  /** The API's public base URL, as the documentation shows it. */
  readonly publicUrl: string
  /** Monotonic milliseconds, for durations. */
  readonly monotonic: () => number
  /** Proxies whose X-Forwarded-For header the app trusts. Default: proxies on this machine. */
  readonly trusted?: TrustedProxies
  /**
   * Time limit for receiving the whole body, unless the route has a `streamed` body with its own limit. Default 10 s.
   */
  readonly bodyTimeoutMs?: number
}

const DEFAULT_BODY_TIMEOUT_MS = 10_000
const DEFAULT_HANDLER_TIMEOUT_MS = 10_000
/**
 * The route label of requests that match no route. Using the requested path would create an unlimited number of labels.
 */
const NO_ROUTE = '(none)'
const MS_PER_SECOND = 1_000
const NO_SCOPES: ReadonlySet<string> = new Set()
const ANYBODY: AuthRule = { kind: 'optional' }
const NOBODY: Promise<undefined> = Promise.resolve(undefined)

/** A request that is being handled. */
interface Exchange {
  readonly requestId: string
  /** Monotonic ms. */
  readonly startedAt: number
  /** Headers that are sent with the answer, even if the answer is an error. */
  readonly added: Record<string, string>
  /** Additional fields for all log lines of this request. */
  readonly noted: Record<string, string>
  /**
   * The session of the page that makes the request; undefined if there is no session or the request has an
   * Authorization header.
   */
  readonly session: ShownSession | undefined
}

/** Produces the answer to a request. */
type Answering = (exchange: Exchange) => Answer | Promise<Answer>

function arrivingBody(call: Call, streamed: StreamedBody | undefined, maxBytes: number): ArrivingBody | undefined {
  if (streamed === undefined) return undefined
  const limits = { maxBytes, timeoutMs: streamed.timeoutMs }
  const contentType = call.header('content-type')
  const whole = () => bodyOf(call, limits)
  return { contentType, pieces: call.request === undefined ? onePiece(whole) : bodyPieces(call.request, limits), whole }
}

function bodyOf({ incoming, request }: Call, limits: BodyLimits): Promise<Uint8Array> {
  return incoming === undefined ? wholeBody(request!, limits) : incomingBody(incoming, limits)
}

function tookTooLong(): ApiError {
  return new ApiError(errors.unavailable, { message: 'The request took too long to process. Try again shortly.' })
}

/** Returns whether the route's access rule admits the caller. */
async function isAdmitted(authorizing: Promise<unknown>): Promise<boolean> {
  return await authorizing.then(
    () => true,
    () => false,
  )
}

/** Creates the HTTP application. Every request gets exactly one answer, even if its handler throws. */
export function createApp(options: AppOptions): OpenAPIHono {
  const app = new OpenAPIHono()
  const paths = pathTable()
  const trusted = options.trusted ?? addressRanges(LOOPBACK)
  const bodyTimeoutMs = options.bodyTimeoutMs ?? DEFAULT_BODY_TIMEOUT_MS
  const cookie = sessionCookie(options.publicUrl)

  /**
   * Runs `answer`, turns its result or its error into a response, and records metrics and a log line.
   * @param hasPages whether a browser that navigates to the route gets errors as HTML pages
   */
  async function exchange(call: Call, route: string, answer: Answering, hasPages = false): Promise<Sent> {
    const startedAt = options.monotonic()
    const requestId = requestIdFrom(call.header('x-request-id'))
    options.metrics.inFlight.inc()
    const added: Record<string, string> = {}
    const noted: Record<string, string> = {}
    let session: ShownSession | undefined
    let sent: Answer
    try {
      assertCleanUrl(call.url)
      session = sessionOf(call)
      sent = variant(call, await answer({ requestId, startedAt, added, noted, session }))
    } catch (error) {
      const known = failure(error, requestId, route)
      const isPage = hasPages && isNavigation((name) => call.header(name))
      sent = isPage
        ? await errorPage(known, requestId)
        : jsonAnswer(known.definition.status, errorBody(known, requestId), errorHeaders(known))
    } finally {
      options.metrics.inFlight.dec()
    }
    const elapsedMs = options.monotonic() - startedAt
    options.metrics.observe(call.method, route, sent.status, elapsedMs / MS_PER_SECOND)
    const outcome = { request_id: requestId, method: call.method, route, status: sent.status }
    options.log.info({ ...outcome, ...noted, duration_ms: Math.round(elapsedMs * 10) / 10 }, 'request_completed')
    const headers: Record<string, string> = {
      ...(session === undefined || isForEverybody(sent) ? COMMON_HEADERS : SESSION_HEADERS),
      'Cache-Control': NOT_CACHEABLE,
      ...sent.headers,
      ...added,
      'X-Request-Id': requestId,
    }
    if (options.readiness.draining) headers.Connection = 'close'
    return { status: sent.status, headers, body: watched(call, sent.body, { request_id: requestId, route }) }
  }

  /**
   * Returns the body. If the body is a stream that fails, logs the failure and closes the connection, so that no client
   * mistakes a partial body for a complete one.
   */
  function watched(call: Call, body: Answer['body'], fields: Record<string, string>): Answer['body'] {
    const { socket } = call
    if (!(body instanceof ReadableStream && socket instanceof Socket)) return body
    return watchedBody(body, (error) => {
      const { message, stack } = error as Error
      options.log.warn({ ...fields, message, stack }, 'answer_cut_off')
      socket.destroy()
    })
  }

  function sessionOf(call: Call): ShownSession | undefined {
    if (call.header('cookie') === undefined || call.header('authorization') !== undefined) return undefined
    const request = { method: call.method, url: call.url, header: (name: string) => call.header(name) }
    return shownSession(request, cookie, options.publicUrl)
  }

  function variant(call: Call, answer: Answer): Answer {
    const isRead = call.method === 'GET' || call.method === 'HEAD'
    if (!isRead || answer.status !== 200) return answer
    return variantFor(answer, { ifNoneMatch: call.header('if-none-match'), acceptEncoding: call.header('accept-encoding') })
  }

  /** Counts an error, and logs it unless it concerns only the caller. Returns the error that the client receives. */
  function failure(error: unknown, requestId: string, route: string): ApiError {
    const known = error instanceof ApiError ? error : new ApiError(errors.internal_error, { cause: error })
    const { status, code, isLogged } = known.definition
    options.metrics.countError(code)
    if (status >= 500 || isLogged === true) {
      const cause = known.cause instanceof Error ? known.cause : undefined
      const fields = { request_id: requestId, route, error: code, message: known.message, cause: cause?.message, stack: cause?.stack }
      if (status === 500) options.log.error(fields, 'request_failed')
      else options.log.warn(fields, 'request_refused')
    }
    return known
  }

  function mount(route: BoundRoute, { name, isUserId }: ServiceRoutes): void {
    const { definition, handler, gateways } = route
    const { method, path, auth, countsAs, units, isExemptFromLimits } = definition
    const limits = { maxBytes: definition.maxBodyBytes ?? DEFAULT_BODY_BYTES, timeoutMs: bodyTimeoutMs }
    const timeoutMs = definition.timeoutMs ?? DEFAULT_HANDLER_TIMEOUT_MS
    paths.add(method, path)
    options.limits?.addRoute?.({ method: method.toUpperCase(), path, countsAs })
    app.openAPIRegistry.registerPath(describeRoute(name, route, options.limits?.covers(countsAs ?? path) ?? false))

    async function run(call: Call, { requestId, startedAt, added, noted, session: shown }: Exchange): Promise<Answer> {
      const session = shown !== undefined && definition.acceptsForms === true ? { ...shown, refusal: shown.formRefusal } : shown
      const authorizing = authorized(call, session, auth, isUserId, gateways)
      const isExempt = isExemptFromLimits === true && (await isAdmitted(authorizing))
      const limited = isExempt ? undefined : await limit(call, authorizing, isUserId, added, countsAs)
      if (definition.params !== undefined && paths.isTakenBefore(call.method, call.path)) return answerUnmatched(call)
      const caller = await authorizing.catch((error: unknown) => visitor(error, call, session, auth, added))
      // The log must not identify users, so the subjects of tokens are left out. The name in a certificate and the
      // address of a gateway identify only machines.
      if (caller !== undefined && caller.kind !== 'token') noted[caller.kind] = caller.subject
      const query = check(definition.query, queryOf(call.url), 'query')
      const params = check(definition.params, call.params, 'path')
      assertValid(query, params)
      const takesKey = definition.idempotent === true || definition.derivesIds === true
      const idempotencyKey = takesKey ? idempotencyKeyFrom(call.header('idempotency-key')) : undefined
      const offeredKey = definition.idempotent ? (idempotencyKey ?? randomUUID()) : undefined
      if (definition.body !== undefined || definition.streamed !== undefined) assertNotCompressed(call.header('content-encoding'))
      const body =
        definition.body === undefined
          ? undefined
          : check(definition.body, await readJsonBody(call.header('content-type'), () => bodyOf(call, limits), limits.maxBytes), 'body')
      if (body !== undefined) assertValid(body)
      const more = units === undefined || body === undefined ? 0 : units(body.value) - 1
      if (more > 0 && !isExempt) await limit(call, authorizing, isUserId, added, countsAs, more)
      const log = lazyChild(options.log, () => ({ request_id: requestId, route: path, ...noted }))
      const header = (name: string) => call.header(name)
      const input = {
        query: query.value,
        params: params.value,
        body: body?.value,
        caller,
        session: caller === undefined && auth.kind !== 'open' ? undefined : session,
        limited,
        address: clientAddress(call.socket?.remoteAddress, call.header('x-forwarded-for'), trusted),
        method: call.method,
        ifNoneMatch: header('if-none-match'),
        expectedVersion: definition.versioned === true ? expectedVersionFrom(header('if-match')) : undefined,
        // These fields are functions, so that they cost time only on the few routes that use them. Getters would cost
        // every request 1.5 µs.
        isSpeculative: () => isSpeculative(header),
        isNavigation: () => isNavigation(header),
        isForeignPage: () => isForeignPage({ header, url: call.url }, options.publicUrl),
        arriving: arrivingBody(call, definition.streamed, limits.maxBytes),
        idempotencyKey,
        offeredKey,
        requestId,
        elapsedMs: () => options.monotonic() - startedAt,
        log,
      }
      const handling = () => withDeadline(handler(input), timeoutMs, tookTooLong)
      const answer = offeredKey === undefined ? await handling() : await answering(offeredKey, handling)
      const { target } = call
      const isPlainRead =
        call.method === 'GET' && call.header('authorization') === undefined && caller === undefined && limited === undefined
      if (answer.reusableUntil !== undefined && isPlainRead && target !== undefined) options.answers.keep(target, path, answer)
      return answer
    }

    const serve = (call: Call) => exchange(call, path, (request) => run(call, request), definition.htmlErrors)
    app.on(method.toUpperCase(), path.replaceAll(/\{(.+?)\}/g, ':$1'), async (c) => responseOf(await serve(new RoutedCall(c))))
    if (definition.isDirect !== true) return
    if (method === 'post') options.direct?.addPost(path, serve, limits.maxBytes)
    else if (method === 'patch') options.direct?.addPatch(path, serve, limits.maxBytes)
    else options.direct?.addGet(path, serve)
  }

  function authorized(
    call: Call,
    session: ShownSession | undefined,
    auth: AuthRule,
    isUserId: UserIdForm,
    gateways?: AddressRanges,
  ): Promise<Caller | undefined> {
    const authorization = call.header('authorization') ?? null
    if (authorization === null && session === undefined && mayBeAnonymous(auth)) return NOBODY
    const shown = { authorization, session, certificate: () => certificateOf(call), remote: call.socket?.remoteAddress }
    const authorizing = authorize(auth, shown, { verifier: options.verifier, isUserId, gateways })
    // If the response is sent before the token is checked, nothing awaits this promise. In that case, a rejection must
    // not crash the process.
    authorizing.catch(() => undefined)
    return authorizing
  }

  /**
   * Lets a visitor see a page anonymously if the session is not accepted. Rethrows the error in all other cases.
   * @param added receives the header that deletes the cookie if the session has ended
   */
  function visitor(
    error: unknown,
    call: Call,
    session: ShownSession | undefined,
    auth: AuthRule,
    added: Record<string, string>,
  ): undefined {
    const isPage = auth.kind === 'optional' && auth.isPage === true
    // If the session has a refusal, a page of another origin may have sent the request. Such a page must not act for
    // the visitor, so the request is refused and not answered anonymously.
    const isBySession = session !== undefined && session.refusal === undefined && call.header('authorization') === undefined
    if (!(isPage && isBySession && error instanceof ApiError)) throw error
    if (error.definition === errors.unauthorized) added['Set-Cookie'] = session.clear
    else if (error.definition !== errors.forbidden) throw error
  }

  function certificateOf(call: Call): ShownCertificate | undefined {
    const { socket } = call
    return socket === undefined ? undefined : options.certificateOf?.(socket)
  }

  /**
   * Counts the request against its rate limits, after its credentials are checked. A request with a rejected token is
   * counted like a request without a token. Throws the refusal if a limit is exceeded or the API key is not valid.
   * @param added receives headers to send with the answer, even if the answer is an error
   * @param path the path that rules are matched against
   * @param units number of requests to count
   * @returns the caller that was counted; undefined if no rate limit covers the path
   */
  async function limit(
    call: Call,
    authorizing: Promise<Caller | undefined>,
    isUserId: UserIdForm,
    added: Record<string, string>,
    path = call.path,
    units = 1,
  ) {
    if (options.limits === undefined || !options.limits.covers(path)) return undefined
    const caller = authorizing === NOBODY ? undefined : await authorizing.catch(() => undefined)
    const admission = await options.limits.admit({
      method: call.method,
      path,
      apiKey: call.header('x-api-key'),
      forwardedFor: call.header('x-forwarded-for'),
      remote: call.socket?.remoteAddress,
      userId: caller?.kind === 'token' && isUserId(caller.subject) ? caller.subject : undefined,
      certificate: caller?.kind === 'certificate' ? caller.subject : undefined,
      scopes: caller?.scopes ?? NO_SCOPES,
      units,
    })
    Object.assign(added, admission.headers)
    if (admission.refusal !== undefined) throw admission.refusal
    return admission.caller
  }

  /**
   * Answers requests that no route accepts: OPTIONS, a wrong method, or an unknown path. Redirects a browser that opens
   * a page with a trailing slash.
   */
  function answerUnmatched(call: Call): Answer {
    if (!URL.canParse(call.url)) throw new ApiError(errors.invalid_request, { message: 'The Host header is malformed.' })
    const allow = paths.allowed(call.path)
    if (allow.length === 0) {
      const isBrowser = (call.method === 'GET' || call.method === 'HEAD') && isNavigation((name) => call.header(name))
      const page = isBrowser ? withoutTrailingSlash(call.url, (path) => paths.allowed(path).includes('GET')) : undefined
      if (page === undefined) throw new ApiError(errors.not_found)
      return { status: 308, headers: { Location: page }, body: null }
    }
    if (call.method !== 'OPTIONS') throw new ApiError(errors.method_not_allowed, { headers: { Allow: allow.join(', ') } })
    const isPreflight = call.header('access-control-request-method') !== undefined
    return { status: 204, headers: optionsHeaders(allow, isPreflight), body: null }
  }

  /** A path without a route belongs to no service, so its rate limits accept the user ids of every service. */
  const isAnyUserId: UserIdForm = (subject) => options.services.some((service) => service.isUserId(subject))

  const operations = operationsService(options.readiness)
  const all = [...options.services, sessionService({ verifier: options.verifier, cookie }), operations]
  for (const service of all) {
    for (const route of service.routes) mount(route, service)
    for (const route of service.documented ?? []) app.openAPIRegistry.registerPath(describeDocumented(service.name, route))
  }
  for (const page of documentationRoutes(app, all, options.publicUrl)) {
    paths.add('get', page.path)
    app.get(page.path, async (c) => responseOf(await exchange(new RoutedCall(c), page.path, page.answer)))
  }
  app.notFound(async (c) => {
    const call = new RoutedCall(c)
    const answer: Answering = async ({ added, session }) => {
      if (call.method !== 'OPTIONS') await limit(call, authorized(call, session, ANYBODY, isAnyUserId), isAnyUserId, added)
      return answerUnmatched(call)
    }
    return responseOf(await exchange(call, NO_ROUTE, answer, true))
  })
  app.onError(async (error, c) => responseOf(await exchange(new RoutedCall(c), NO_ROUTE, () => Promise.reject(error))))
  return app
}

function responseOf({ status, headers, body }: Sent): Response {
  return new Response(body as ConstructorParameters<typeof Response>[0], { status, headers })
}
