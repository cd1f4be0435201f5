import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Call, DirectCall } from './call.ts'

/** An answer in its final form, with all its headers. */
export interface Sent {
  readonly status: number
  /** Only this answer uses the object, so headers may be added to it. */
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null
}

/** Answers a call. Never throws or rejects. */
export type ServeCall = (call: Call) => Promise<Sent>

/**
 * Routes that the HTTP server hands to the app without the framework, which would cost more than their handlers. The
 * app treats these calls exactly like others.
 */
export interface DirectRoutes {
  /** @param path a path whose last segment is its only parameter */
  add(path: string, serve: ServeCall): void
  /** Starts to answer a request. Returns false if the request is not a plain GET of one of the routes. */
  start(request: IncomingMessage, response: ServerResponse): boolean
}

interface DirectRoute {
  readonly parameter: string
  readonly serve: ServeCall
}

/** Only numbers are served directly. A number is never the name of another route, and needs no decoding. */
const NUMBER = /^\d{1,20}$/
/** Hosts that need no check by a parser of URLs. */
const PLAIN_HOST = /^[a-z0-9._-]+(?::[1-9]\d{3,4})?$/
const MAX_PORT = 65_535

export function directRoutes(): DirectRoutes {
  const routes = new Map<string, DirectRoute>()

  return {
    add(path, serve) {
      const [, prefix, parameter] = /^([^{}]+\/)\{([^{}]+)\}$/.exec(path) ?? []
      if (prefix === undefined) throw new Error(`the last segment of ${path} must be its only parameter`)
      routes.set(prefix, { parameter, serve })
    },
    start(request, response) {
      if (routes.size === 0 || request.method !== 'GET') return false
      const url = request.url as string
      const start = url.lastIndexOf('/') + 1
      const route = routes.get(url.slice(0, start))
      if (route === undefined) return false
      const value = url.slice(start)
      if (!NUMBER.test(value) || !isPlain(request)) return false
      void answer(response, route.serve(new DirectCall(request, { [route.parameter]: value })))
      return true
    },
  }
}

/**
 * Returns whether Node presents the request's headers as the framework would. The two differ if there are several
 * Authorization headers. Node keeps only the first header, whereas the framework joins the headers, so that the app
 * refuses the request.
 */
function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  const { host } = headers
  if (host === undefined || !isPlainHost(host)) return false
  if (headers.authorization === undefined) return true
  let found = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].length === 'authorization'.length && rawHeaders[index].toLowerCase() === 'authorization') found++
  }
  return found === 1
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
    // Node sends a text and the headers as one string. A text of ASCII characters need not be encoded.
    response.writeHead(status, headers).end(body, length === body.length ? 'latin1' : 'utf8')
    return
  }
  const bytes = body as Uint8Array | null
  if (bytes !== null) headers['Content-Length'] = String(bytes.byteLength)
  response.writeHead(status, headers).end(bytes ?? undefined)
}
