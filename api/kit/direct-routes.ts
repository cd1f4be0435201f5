import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Call, DirectCall } from './call.ts'

/** An answer in its final form. Only the header Content-Length may still be missing. */
export interface Sent {
  readonly status: number
  /** Headers of the answer. No other answer uses this object, so headers may be added to it. */
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null
}

/** Answers a call. Never throws or rejects. */
export type ServeCall = (call: Call) => Promise<Sent>

/**
 * Routes that the HTTP server hands to the app directly, because the framework would cost more than their handlers. The
 * app treats direct calls exactly like all other calls.
 */
export interface DirectRoutes {
  /** @param path a path whose last segment is its only parameter */
  addGet(path: string, serve: ServeCall): void
  /**
   * @param path a path whose last segment is its only parameter
   * @param maxBytes maximum size of the body
   */
  addPatch(path: string, serve: ServeCall, maxBytes: number): void
  /**
   * @param path a path without parameters
   * @param maxBytes maximum size of the body
   */
  addPost(path: string, serve: ServeCall, maxBytes: number): void
  /**
   * Starts to answer a request. Returns false if the request is not a plain GET, PATCH or POST for one of these routes.
   */
  start(request: IncomingMessage, response: ServerResponse): boolean
}

interface DirectPost {
  readonly serve: ServeCall
  readonly maxBytes: number
}

/** A route whose last path segment is a parameter. */
interface DirectEntity extends DirectPost {
  readonly parameter: string
}

type Entities = Map<string, DirectEntity>

const NO_PARAMETERS: Readonly<Record<string, string>> = {}

/**
 * Matches a parameter of a direct call. Only numbers are accepted, because a number needs no decoding and is never the
 * last segment of another route's path.
 */
const NUMBER = /^\d{1,20}$/
/** Matches Host headers that are accepted without a check by a URL parser. */
const PLAIN_HOST = /^[a-z0-9._-]+(?::[1-9]\d{3,4})?$/
const MAX_PORT = 65_535
/** If one of these two headers occurs more than once, Node keeps only the first occurrence. */
const AUTHORIZATION = 'authorization'
const CONTENT_TYPE = 'content-type'

export function directRoutes(): DirectRoutes {
  /** Routes with a parameter, keyed by the part of the path before the parameter. */
  const gets: Entities = new Map()
  const patches: Entities = new Map()
  const posts = new Map<string, DirectPost>()

  function startEntity(routes: Entities, hasBody: boolean, request: IncomingMessage, response: ServerResponse): boolean {
    if (routes.size === 0) return false
    const url = request.url as string
    const start = url.lastIndexOf('/') + 1
    const route = routes.get(url.slice(0, start))
    if (route === undefined) return false
    const value = url.slice(start)
    if (!NUMBER.test(value) || (hasBody && !hasPlainBody(request, route.maxBytes)) || !isPlain(request)) return false
    void answer(response, route.serve(new DirectCall(request, { [route.parameter]: value })))
    return true
  }

  function addEntity(routes: Entities, path: string, serve: ServeCall, maxBytes: number): void {
    const [, prefix, parameter] = /^([^{}]+\/)\{([^{}]+)\}$/.exec(path) ?? []
    if (prefix === undefined) throw new Error(`${path} cannot be a direct route: its last segment must be its only parameter`)
    routes.set(prefix, { parameter, serve, maxBytes })
  }

  function startPost(request: IncomingMessage, response: ServerResponse): boolean {
    const route = posts.get(request.url as string)
    if (route === undefined || !hasPlainBody(request, route.maxBytes) || !isPlain(request)) return false
    void answer(response, route.serve(new DirectCall(request, NO_PARAMETERS)))
    return true
  }

  return {
    addGet: (path, serve) => addEntity(gets, path, serve, 0),
    addPatch: (path, serve, maxBytes) => addEntity(patches, path, serve, maxBytes),
    addPost(path, serve, maxBytes) {
      if (path.includes('{')) throw new Error(`${path} cannot be a direct POST route: it has parameters`)
      posts.set(path, { serve, maxBytes })
    },
    start(request, response) {
      switch (request.method) {
        case 'GET':
          return startEntity(gets, false, request, response)
        case 'PATCH':
          return startEntity(patches, true, request, response)
        case 'POST':
          return startPost(request, response)
        default:
          return false
      }
    },
  }
}

/**
 * Returns whether two conditions of a direct call hold: the Host header needs no check by a URL parser, and Node gives
 * the app the same headers as the framework. The headers differ if certain headers occur more than once: Node keeps
 * only the first occurrence, whereas the framework joins all occurrences, and the app then refuses the request.
 */
function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  const { host } = headers
  if (host === undefined || !isPlainHost(host)) return false
  let tokens = 0
  let types = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) tokens++
    else if (name.length === CONTENT_TYPE.length && name.toLowerCase() === CONTENT_TYPE) types++
  }
  return tokens <= 1 && types <= 1
}

/** Returns whether the request has a Content-Length within the limit, and no Transfer-Encoding. */
function hasPlainBody({ headers }: IncomingMessage, maxBytes: number): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? Number.NaN) <= maxBytes
}

function isPlainHost(host: string): boolean {
  if (!PLAIN_HOST.test(host)) return false
  const colon = host.indexOf(':')
  return colon < 0 || Number(host.slice(colon + 1)) <= MAX_PORT
}

async function answer(response: ServerResponse, serving: Promise<Sent>): Promise<void> {
  const { status, headers, body } = await serving
  if (typeof body === 'string') {
    const length = Buffer.byteLength(body)
    headers['Content-Length'] = String(length)
    // Node sends a string body and the headers in one write. A string of ASCII characters need not be encoded.
    response.writeHead(status, headers).end(body, length === body.length ? 'latin1' : 'utf8')
    return
  }
  const bytes = body as Uint8Array | null
  if (bytes !== null) headers['Content-Length'] = String(bytes.byteLength)
  response.writeHead(status, headers).end(bytes ?? undefined)
}
