import type { z } from '@hono/zod-openapi'
import type { Answer } from './answer.ts'
import type { Caller } from './auth/verify.ts'
import type { AddressRanges } from './client-address.ts'
import type { ErrorDefinition } from './errors.ts'
import type { LimitedCaller } from './limited-caller.ts'
import type { Logger } from './logging.ts'
import type { ShownSession } from './session/shown.ts'

/**
 * Which callers may call a route.
 * - `open`: everyone. Tokens are ignored.
 * - `optional`: everyone. Without a token, the caller is anonymous. A bad token is still a 401, and a subject that is
 * not a user id is a 403 unless `anySubject` is true or the token has the scope `anySubjectOf`. If `isPage` is true, a
 * session whose token would be refused counts as no session, because the browser sends the cookie without the user's
 * knowledge.
 * - `user`: callers with a token whose subject is a user id, and callers with a token that has the scope
 * `anySubjectOf`.
 * - `scope`: callers with a token that has the scope, or one of several scopes. The subject of the token may be
 * anything. With `orCertificate`, a client certificate that the API verified is enough as well.
 */
export type AuthRule =
  | { readonly kind: 'open' }
  | { readonly kind: 'optional'; readonly anySubjectOf?: string; readonly anySubject?: boolean; readonly isPage?: boolean }
  | { readonly kind: 'user'; readonly anySubjectOf?: string }
  | { readonly kind: 'scope'; readonly scope: string | readonly string[]; readonly orCertificate?: boolean }

type AnyObject = z.ZodObject<z.ZodRawShape>
type OutputOf<S> = S extends z.ZodType ? z.output<S> : undefined

/** Documents an answer that is not an error. */
export interface AnswerSpec {
  readonly description: string
  /** Schema of the body. If neither this nor `mediaType` is set, the answer has no body. */
  readonly schema?: z.ZodType
  /** Default application/json. */
  readonly mediaType?: string
  /** Further media types of the same answer. */
  readonly otherMediaTypes?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly example?: unknown
}

/** Documents a streamed body. The handler itself validates the body. */
export interface StreamedBody {
  readonly content: Readonly<Record<string, { readonly schema: z.ZodType; readonly example?: unknown }>>
  /** Time limit for receiving the whole body. */
  readonly timeoutMs: number
  /** Whether a request without a body is also valid. */
  readonly isOptional?: boolean
}

/** A body that is still arriving. */
export interface ArrivingBody {
  readonly contentType: string | undefined
  /**
   * The chunks of the body. The chunks can be iterated only once. Throws ApiError: `content_too_large` above the
   * route's `maxBodyBytes`, `request_timeout` if the body arrives too slowly, `invalid_request` if the connection is
   * lost or the Host header is malformed.
   */
  readonly pieces: AsyncIterable<Uint8Array>
  /**
   * Reads the whole body at once. This is faster than `pieces`. Do not use `pieces` and `whole` together. Throws the
   * same errors.
   */
  whole(): Promise<Uint8Array>
}

/** One operation. The definition validates its requests, types its handler and documents it. */
export interface RouteDefinition<Q extends AnyObject | undefined, P extends AnyObject | undefined, B extends z.ZodType | undefined> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** `/v1/trends/{term}/history` */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly auth: AuthRule
  readonly query?: Q
  readonly params?: P
  /** Schema of the JSON body. */
  readonly body?: B
  readonly bodyExample?: unknown
  /** Description of a body that the handler reads as it arrives. This description replaces `body`. */
  readonly streamed?: StreamedBody
  /**
   * Whether the route accepts an Idempotency-Key. If so, each 503 error that its handler causes, except one with
   * `needsNewKey`, contains a `command_id` that can serve as the key.
   */
  readonly idempotent?: boolean
  /**
   * Whether the handler derives ids from the caller's Idempotency-Key. Unlike with idempotent routes, nothing is stored
   * under the key, so a reused key is never a conflict, and a 503 offers no key.
   */
  readonly derivesIds?: boolean
  /**
   * Whether a form on one of this server's own pages may use the session. A form cannot send the CSRF header that other
   * requests with a session need, so the browser must state the origin of the page instead.
   */
  readonly acceptsForms?: boolean
  /** Whether the route accepts If-Match with the version that the caller expects. */
  readonly versioned?: boolean
  /**
   * The path that rate limits use instead of the request's path. With such a path, several routes that create the same
   * kind of resource share one limit, and a rule can name a path that has parameters.
   */
  readonly countsAs?: string
  /**
   * Returns how many requests a request with this body counts as, at least 1. Default 1. The first unit is counted
   * before the body is read, and the remaining units before the handler runs. The function must be cheap.
   */
  readonly units?: (body: OutputOf<B>) => number
  /**
   * Whether rate limits never refuse callers whom the route's rule admits. Use this option if refusing a request would
   * do more harm than any load. Callers whom the rule does not admit are still limited, so that they cannot guess
   * credentials at an unlimited rate.
   */
  readonly isExemptFromLimits?: boolean
  /**
   * Whether the HTTP server calls the route without the framework. Use it for a route that is called very often and has
   * no query. In all other respects, the route behaves the same. The route must be a GET, a PATCH or a POST:
   * - The only parameter of a GET or PATCH is the last segment of its path. The call is direct only if the parameter is
   *   a number.
   * - A POST has no parameters.
   * - A PATCH or POST is direct only if it has a Content-Length.
   */
  readonly isDirect?: boolean
  /** Maximum size of the body. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** Time limit of the handler. Default 10 s. */
  readonly timeoutMs?: number
  readonly answers: Readonly<Record<number, AnswerSpec>>
  /**
   * Whether errors are HTML pages. The handler renders its own errors. The kit renders all other errors as pages, but
   * only if a browser opens the URL as a page. Any other client gets these errors as JSON.
   */
  readonly htmlErrors?: boolean
  /** Errors that the handler throws. The kit adds further errors. */
  readonly errors: readonly ErrorDefinition[]
}

export interface HandlerInput<Q, P, B> {
  readonly query: OutputOf<Q>
  readonly params: OutputOf<P>
  readonly body: OutputOf<B>
  /** The caller; undefined if anonymous. */
  readonly caller: Caller | undefined
  /**
   * The session that identifies the caller; undefined if the caller has no session or sent other credentials. For an
   * open route, the session is not verified.
   */
  readonly session: ShownSession | undefined
  /** The identity under which rate limits count the request; undefined if the request is not limited. */
  readonly limited: LimitedCaller | undefined
  /** The client's address. */
  readonly address: string
  /** The method in upper case. A HEAD request runs the handler for GET. */
  readonly method: string
  /** The If-None-Match header. Handlers use it to find out whether the answer will be a 304. */
  readonly ifNoneMatch: string | undefined
  /**
   * The version that the caller expects, for versioned routes; undefined if the caller sent no If-Match or accepts
   * every version.
   */
  readonly expectedVersion: number | undefined
  /** Whether the request is a prefetch or comes from a robot, such as a link preview. */
  isSpeculative(): boolean
  /** Whether a browser opens the URL as a page. False if a script or another program fetches the URL. */
  isNavigation(): boolean
  /** Whether a page of another origin makes the request. */
  isForeignPage(): boolean
  /** Set for routes with a streamed body. */
  readonly arriving: ArrivingBody | undefined
  /** The caller's Idempotency-Key, for routes that accept one; undefined if the caller sent none. */
  readonly idempotencyKey: string | undefined
  /**
   * For idempotent routes, the key for repeating the request after a 503: the caller's key, or a new key if the caller
   * sent none.
   */
  readonly offeredKey: string | undefined
  readonly requestId: string
  /** Returns the time since the request arrived, in ms. */
  elapsedMs(): number
  readonly log: Logger
}

export type Handler<Q, P, B> = (input: HandlerInput<Q, P, B>) => Answer | Promise<Answer>

/** An operation that is handled by code outside the app. It returns only the errors declared in its definition. */
export interface DocumentedRoute {
  readonly definition: BoundRoute['definition']
  /** Base URLs of the servers that serve the operation. */
  readonly servers: readonly string[]
}

/** A route and its handler without their specific types, as the app mounts them. */
export interface BoundRoute {
  readonly definition: RouteDefinition<AnyObject | undefined, AnyObject | undefined, z.ZodType | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: the definition's own schemas produce exactly what its handler takes
  readonly handler: Handler<any, any, any>
  readonly gateways?: AddressRanges
}

/** The parts of a route that come from the configuration. */
export interface BindOptions {
  /**
   * Addresses that may call a route with a `scope` rule without any other proof, because the operator trusts them. They
   * are compared with the socket's address, never with a header. A bad token is refused even from these addresses.
   */
  readonly gateways?: AddressRanges
}

export function defineRoute<
  Q extends AnyObject | undefined = undefined,
  P extends AnyObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(definition: RouteDefinition<Q, P, B>): RouteDefinition<Q, P, B> {
  return definition
}

export function bind<Q extends AnyObject | undefined, P extends AnyObject | undefined, B extends z.ZodType | undefined>(
  definition: RouteDefinition<Q, P, B>,
  handler: Handler<Q, P, B>,
  { gateways }: BindOptions = {},
): BoundRoute {
  return { definition, handler, gateways }
}
