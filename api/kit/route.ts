import type { z } from '@hono/zod-openapi'
import type { Answer } from './answer.ts'
import type { Caller } from './auth/verify.ts'
import type { ErrorDefinition } from './errors.ts'
import type { LimitedCaller } from './limited-caller.ts'
import type { Logger } from './logging.ts'

/**
 * Who may call.
 * - `open`: tokens are not looked at.
 * - `optional`: without a token the caller is anonymous; a bad token is still 401, and a subject that is no user id 403, unless the token
 *   holds the scope `anySubjectOf`.
 * - `user`: a token whose subject is a user id.
 * - `scope`: a token that holds the scope; its subject may be anything.
 */
export type AuthRule =
  | { readonly kind: 'open' }
  | { readonly kind: 'optional'; readonly anySubjectOf?: string }
  | { readonly kind: 'user' }
  | { readonly kind: 'scope'; readonly scope: string }

type AnyObject = z.ZodObject<z.ZodRawShape>
type OutputOf<S> = S extends z.ZodType ? z.output<S> : undefined

/** A documented success answer. */
export interface AnswerSpec {
  readonly description: string
  /** JSON body; absent: no body. */
  readonly schema?: z.ZodType
  /** Default application/json. */
  readonly mediaType?: string
  /** Others that the same answer may have. */
  readonly otherMediaTypes?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly example?: unknown
}

/** Described only: the handler itself checks what it reads. */
export interface StreamedBody {
  readonly content: Readonly<Record<string, { readonly schema: z.ZodType; readonly example?: unknown }>>
  /** The whole body must have arrived within this. */
  readonly timeoutMs: number
}

/** A body on its way. */
export interface ArrivingBody {
  readonly contentType: string | undefined
  /** May be taken once. Throws ApiError: `content_too_large` above the route's `maxBodyBytes`, `request_timeout`, `invalid_request`. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/** One operation: validated, typed and documented by this one definition. */
export interface RouteDefinition<Q extends AnyObject | undefined, P extends AnyObject | undefined, B extends z.ZodType | undefined> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** `/v1/trends/{term}/history` */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly auth: AuthRule
  readonly query?: Q
  readonly params?: P
  /** JSON body. */
  readonly body?: B
  readonly bodyExample?: unknown
  /** A body that the handler reads as it arrives, instead of `body`: what it may be, by media type. */
  readonly streamed?: StreamedBody
  /** True: takes an Idempotency-Key. */
  readonly idempotent?: boolean
  /** The path that rate limits see instead of the request's own: what is a creation by another name is limited as one. */
  readonly countsAs?: string
  /** Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** Default 10 s. */
  readonly timeoutMs?: number
  readonly answers: Readonly<Record<number, AnswerSpec>>
  /** True: the handler's own errors are pages for people. */
  readonly htmlErrors?: boolean
  /** Codes that the handler throws; what the kit itself answers is added. */
  readonly errors: readonly ErrorDefinition[]
}

export interface HandlerInput<Q, P, B> {
  readonly query: OutputOf<Q>
  readonly params: OutputOf<P>
  readonly body: OutputOf<B>
  /** undefined: anonymous. */
  readonly caller: Caller | undefined
  /** Who the rate limits say calls; undefined where nobody is limited. */
  readonly limited: LimitedCaller | undefined
  /** Where the request comes from. */
  readonly address: string
  /** In capitals; HEAD is handled as GET. */
  readonly method: string
  /** If-None-Match, for those who must know whether the answer will be a 304. */
  readonly ifNoneMatch: string | undefined
  /** Of routes whose body is streamed. */
  readonly arriving: ArrivingBody | undefined
  /** Of routes that are idempotent. */
  readonly idempotencyKey: string | undefined
  /** Of routes that are idempotent: the key given, or one that a 503 offers for the repetition. */
  readonly offeredKey: string | undefined
  readonly requestId: string
  readonly log: Logger
}

export type Handler<Q, P, B> = (input: HandlerInput<Q, P, B>) => Answer | Promise<Answer>

/** An operation that something else than the app answers; its errors are all that there are. */
export interface ElsewhereRoute {
  readonly definition: BoundRoute['definition']
  /** Beginnings of its addresses. */
  readonly servers: readonly string[]
}

/** A route with its handler, types erased: what the app mounts. */
export interface BoundRoute {
  readonly definition: RouteDefinition<AnyObject | undefined, AnyObject | undefined, z.ZodType | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: the definition's own schemas produce exactly what its handler takes
  readonly handler: Handler<any, any, any>
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
): BoundRoute {
  return { definition, handler }
}
