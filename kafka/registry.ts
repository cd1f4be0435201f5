import { basicAuthorization } from '../runtime/basic-authorization.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { SchemaNotFoundError, type SchemaRegistry } from './registry-interface.ts'

export { SchemaNotFoundError } from './registry-interface.ts'

/**
 * Client of a schema registry with Confluent's REST API. Schemas are JSON text. The client caches them by id, because
 * the schema of an id never changes. `register` throws SchemaRefusedError when the schema is incompatible or invalid.
 * `schemaById` throws SchemaNotFoundError when the registry has no Avro schema with the id. Both throw
 * RegistryAccessError when the registry denies access, and RegistryUnreachableError when it gives no usable answer.
 */
export type RegistryClient = SchemaRegistry

export interface RegistryOptions {
  /**
   * One or more base URLs, separated by commas. If one fails, the next one is tried. A user and password in a URL are
   * sent as basic authentication.
   */
  readonly url: string
  /** Time limit of one attempt to send a request. Default 5 s. */
  readonly requestTimeoutMs?: number
  /**
   * Time limit of a request, including its retries. Default 30 s, which is enough for a registry to restart. If the
   * registry answers that a schema is missing, the client may send a second request, which has a separate limit.
   */
  readonly deadlineMs?: number
}

export interface RegistryDeps {
  readonly fetch?: typeof fetch
  /** The runtime of the client. The default is the system's runtime, without a log. */
  readonly runtime?: Runtime
}

/**
 * Thrown when the registry refuses a schema because it is invalid or incompatible with an earlier version. A retry
 * would not help.
 */
export class SchemaRefusedError extends Error {
  override readonly name = 'SchemaRefusedError'
  readonly subject: string
  /**
   * The registry's error code, for example 409 for an incompatible schema and 42201 for an invalid one. If the answer
   * has no code, this is the HTTP status.
   */
  readonly code: number
  constructor(subject: string, code: number, reason: string) {
    super(`the schema registry refuses the schema of subject "${subject}": ${reason}`)
    this.subject = subject
    this.code = code
  }
}

/**
 * Thrown when the registry gave no usable answer before the deadline, or answered a request for a schema with an
 * unexpected error. A later call may succeed.
 */
export class RegistryUnreachableError extends Error {
  override readonly name = 'RegistryUnreachableError'
}

/**
 * Thrown when the registry denies access (401 or 403). The credentials are wrong, lack a permission, or cannot be
 * checked at the moment. The schema is not the cause.
 */
export class RegistryAccessError extends Error {
  override readonly name = 'RegistryAccessError'
}

const REQUEST_TIMEOUT_MS = 5_000
const DEADLINE_MS = 30_000
/**
 * First wait before a repeated request. The wait doubles with each attempt, up to `LONGEST_BACKOFF_MS`, so that a
 * client sends about ten requests, not hundreds, during an outage of 30 seconds.
 */
const FIRST_BACKOFF_MS = 100
const LONGEST_BACKOFF_MS = 5_000
const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json'
/** The statuses that mean that the registry denies access: unauthorized and forbidden. */
const ACCESS_DENIED: ReadonlySet<number> = new Set([401, 403])
/** The statuses below 500 after which a retry may succeed: request timeout and too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 429])
/**
 * The registry's error code for an unknown schema id. The HTTP status alone is not enough, because a proxy in front of
 * the registry may return 404 for other reasons.
 */
const SCHEMA_NOT_FOUND_CODE = 40_403
/**
 * Number of characters of an unexpected answer that error messages quote. This is enough to recognise a proxy's error
 * page.
 */
const SHOWN_CHARACTERS = 120
/**
 * Wait before the client repeats a request for a missing schema. A registry server that is not the leader receives new
 * schemas with a delay, and records become dead letters if the client reports their schema as missing.
 */
const CONFIRMATION_DELAY_MS = 1_000
/**
 * Maximum number of missing schemas that the client requests a second time within `CONFIRMATION_PERIOD_MS`. Without a
 * limit, a producer of random schema ids would delay its readers by a second per record.
 */
const CONFIRMATIONS = 10
const CONFIRMATION_PERIOD_MS = 60_000
const AVRO = 'AVRO'

interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
}

type Answer<T> = { readonly ok: true; readonly body: T } | { readonly ok: false; readonly refusal: Refusal }

interface Attempted {
  /** Number of the attempt that got the answer. Attempts take turns among the addresses. */
  readonly attempt: number
}

/**
 * Creates a client for the two HTTP calls that workers and APIs need. It caches schemas. The client on npm is not
 * suitable: its own codec parses every schema and rounds 64-bit numbers, and it does not distinguish a missing schema
 * from an unreachable registry.
 */
export function registryClient(options: RegistryOptions, deps: RegistryDeps = {}): RegistryClient {
  const { fetch: request = fetch, runtime = systemRuntime() } = deps
  const endpoints = options.url.split(',').map((url) => endpoint(url.trim()))
  const schemas = new Map<number, Promise<string>>()
  /** Monotonic times (ms) at which the client began to confirm that a schema is missing. */
  let confirmations: number[] = []

  async function register(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`
    const answer = await ask({ method: 'POST', path, body: JSON.stringify({ schema }) }, isRegistered)
    if (!answer.ok) throw new SchemaRefusedError(subject, answer.refusal.code, answer.refusal.message)
    const { id } = answer.body
    // Caches the schema, so that the process can read its own records even if the registry is unavailable when the
    // first of them arrives.
    if (!schemas.has(id)) schemas.set(id, Promise.resolve(schema))
    return id
  }

  function schemaById(id: number): Promise<string> {
    const known = schemas.get(id)
    if (known) return known
    const asked = askSchema(id)
    schemas.set(id, asked)
    asked.catch(() => schemas.delete(id))
    return asked
  }

  async function askSchema(id: number): Promise<string> {
    const question = { method: 'GET', path: `/schemas/ids/${id}` }
    let answer = await ask(question, isKnownSchema)
    if (isMissing(answer) && mayConfirm()) {
      await runtime.sleep(CONFIRMATION_DELAY_MS)
      answer = await ask(question, isKnownSchema, answer.attempt + 1)
    }
    if (answer.ok) {
      const { schema } = answer.body
      const schemaType = answer.body.schemaType ?? AVRO
      if (schemaType === AVRO) return schema
      throw new SchemaNotFoundError(id, `schema ${id} of the schema registry is of type ${schemaType}, not ${AVRO}`)
    }
    if (isMissing(answer)) throw new SchemaNotFoundError(id)
    throw new RegistryUnreachableError(`the schema registry answers ${answer.refusal.status} for schema ${id}: ${answer.refusal.message}`)
  }

  function mayConfirm(): boolean {
    const now = runtime.monotonic()
    confirmations = confirmations.filter((at) => now - at < CONFIRMATION_PERIOD_MS)
    if (confirmations.length >= CONFIRMATIONS) return false
    confirmations.push(now)
    return true
  }

  /** @param first number of the first attempt, which determines the address that is asked first */
  async function ask<T>(question: Question, isExpected: (body: unknown) => body is T, first = 0): Promise<Answer<T> & Attempted> {
    const deadline = runtime.monotonic() + (options.deadlineMs ?? DEADLINE_MS)
    let backoff = FIRST_BACKOFF_MS
    for (let attempt = first; ; attempt++) {
      const target = endpoints[attempt % endpoints.length]
      const outcome = await tryOnce(target, question, isExpected)
      if (typeof outcome !== 'string') {
        if (!outcome.ok && ACCESS_DENIED.has(outcome.refusal.status)) throw accessError(target, outcome.refusal)
        return { ...outcome, attempt }
      }
      if (runtime.monotonic() + backoff >= deadline) {
        throw new RegistryUnreachableError(
          `no usable answer from the schema registry at ${target.url} (${outcome}). Is it running, and is its address right (SCHEMA_REGISTRY_URL)?`,
        )
      }
      await runtime.sleep(backoff)
      backoff = Math.min(backoff * 2, LONGEST_BACKOFF_MS)
    }
  }

  /**
   * Sends a request once.
   * @returns the answer, or the reason why the request should be retried
   */
  async function tryOnce<T>(
    target: Endpoint,
    { method, path, body }: Question,
    isExpected: (body: unknown) => body is T,
  ): Promise<Answer<T> | string> {
    const timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
    const timeout = new AbortController()
    const cancelTimeout = runtime.setTimer(timeoutMs, () => timeout.abort(new Error(`no answer within ${timeoutMs} ms`)))
    try {
      const response = await request(target.url + path, {
        method,
        body,
        headers: { accept: MEDIA_TYPE, 'content-type': MEDIA_TYPE, ...target.headers },
        signal: timeout.signal,
      })
      const content = await response.text()
      const { status } = response
      const given = jsonOf(content)
      if (response.ok) return isExpected(given) ? { ok: true, body: given } : `it answers ${status} with ${shown(content)}`
      const { error_code: code, message } = errorBody(given, content)
      if (status >= 500 || PASSING.has(status)) return `it answers ${status}: ${message}`
      // The registry itself always answers with JSON, so this answer comes from another server, such as a proxy.
      if (given === undefined) return `it answers ${status} with ${shown(content)}`
      return { ok: false, refusal: { status, code: code ?? status, message } }
    } catch (error) {
      const { message, cause } = error as Error
      return cause instanceof Error ? `${message}: ${cause.message || (cause as NodeJS.ErrnoException).code}` : message
    } finally {
      cancelTimeout()
    }
  }

  return { register, schemaById }
}

function isMissing(answer: Answer<unknown>): boolean {
  return !answer.ok && answer.refusal.code === SCHEMA_NOT_FOUND_CODE
}

function accessError({ url }: Endpoint, { status, message }: Refusal): RegistryAccessError {
  return new RegistryAccessError(
    `the schema registry at ${url} denies access with status ${status}: ${message}. Are the user and password in its address right (SCHEMA_REGISTRY_URL), and may the user read and register schemas?`,
  )
}

interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

function endpoint(text: string): Endpoint {
  const url = new URL(text)
  const authorization = basicAuthorization(url)
  url.username = ''
  url.password = ''
  const plain = url.href.replace(/\/$/, '')
  return { url: plain, headers: authorization === undefined ? {} : { authorization } }
}

interface Question {
  readonly method: string
  readonly path: string
  readonly body?: string
}

function isRegistered(body: unknown): body is { readonly id: number } {
  return Number.isSafeInteger((body as { id?: unknown } | undefined)?.id)
}

interface KnownSchema {
  readonly schema: string
  /** The format of the schema. Undefined and null (which some registries return) both mean Avro. */
  readonly schemaType?: string | null
}

/**
 * Checks an answer that should contain a schema. An Avro schema that is not valid JSON is rejected here, because the
 * cache would otherwise keep it forever.
 */
function isKnownSchema(body: unknown): body is KnownSchema {
  const { schema, schemaType } = (body ?? {}) as { schema?: unknown; schemaType?: unknown }
  return typeof schema === 'string' && ((schemaType ?? AVRO) !== AVRO || jsonOf(schema) !== undefined)
}

/**
 * Parses JSON.
 * @returns undefined if the text is not JSON
 */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function shown(content: string): string {
  return content.length > SHOWN_CHARACTERS ? `${content.slice(0, SHOWN_CHARACTERS)}…` : content || 'an empty body'
}

function errorBody(body: unknown, content: string): { error_code?: number; message: string } {
  const { error_code, message } = (body ?? {}) as { error_code?: number; message?: string }
  return { error_code, message: message ?? shown(content) }
}
