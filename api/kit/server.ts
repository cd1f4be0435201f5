import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonAnswer } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import type { ConnectionGate } from './connections.ts'
import type { DirectRoutes } from './direct-routes.ts'
import { ApiError, type ErrorDefinition, errorBody, errors } from './errors.ts'
import { COMMON_HEADERS, NOT_CACHEABLE } from './headers.ts'
import { keptAnswerSender } from './kept-answers.ts'
import { listen } from './listen.ts'
import type { Logger } from './logging.ts'
import type { HttpMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import { requestIdFrom } from './request-id.ts'
import { type ListenerTls, secureServer } from './tls/listener.ts'

/** Handles a request before the app does. Returns true if it has answered the request. */
export type FrontHandler = (request: IncomingMessage, response: ServerResponse) => boolean

export interface ServerOptions {
  /** Receives each request before the app does. */
  readonly front?: FrontHandler
  readonly app: OpenAPIHono
  readonly answers: AnswerCache
  /** Routes of the app that are called without the framework. If undefined, there are no such routes. */
  readonly direct?: DirectRoutes
  readonly metrics: HttpMetrics
  readonly readiness: Readiness
  readonly log: Logger
  readonly host: string
  /** 0 chooses any free port. */
  readonly port: number
  /** The setting that the error message names if the port is already in use. Default API_PORT. */
  readonly portSetting?: string
  /** Epoch ms. */
  readonly now: () => number
  readonly limits?: Partial<ServerLimits>
  /** Limits the number of connections. If undefined, the number is unlimited. */
  readonly connections?: ConnectionGate
  /**
   * Serves TLS with these certificates. They may change while the server runs. If undefined, the server uses plain
   * HTTP.
   */
  readonly tls?: ListenerTls
}

export interface ServerLimits {
  /**
   * Time limit for the request line and headers. The limit protects against clients that send headers slowly on
   * purpose.
   */
  readonly headersTimeoutMs: number
  /** Time limit for the whole request. */
  readonly requestTimeoutMs: number
  /**
   * How long an idle connection stays open for the next request. The time must exceed the idle timeout of load
   * balancers (commonly 60 s). Otherwise, a load balancer sends requests to connections that this server has closed.
   */
  readonly keepAliveTimeoutMs: number
  /** Interval at which Node checks `headersTimeoutMs` and `requestTimeoutMs`. */
  readonly checkIntervalMs: number
  /**
   * How long a client has to read a refusal and close its half of the connection. After this time, the connection is
   * destroyed, because a client that never closes its half would keep it open forever.
   */
  readonly lingerMs: number
}

const DEFAULT_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 5_000,
  lingerMs: 1_000,
}
/** Host that is assumed for a request without a Host header. HTTP/1.0 clients need not send this header. */
const DEFAULT_HOST = 'localhost'
const MAX_HEADER_BYTES = 16_384
/** Interval at which connections that have become idle are closed during draining. */
const DRAIN_SWEEP_MS = 50

export interface RunningServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  /** Returns the number of open connections, including idle ones. */
  connections(): Promise<number>
  /**
   * Stops accepting connections, waits for running requests until the time limit, then closes the remaining
   * connections.
   * @returns the number of connections that were still open at the time limit
   */
  close(drainTimeoutMs: number): Promise<number>
}

/** A socket as Node's HTTP server extends it. Node's own handler of malformed requests uses this field as well. */
interface AnsweringSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null
}

interface Listener {
  readonly server: Server | SecureServer
  readonly scheme: 'http' | 'https'
  /** Closes connections that have not finished their TLS handshake. */
  cutHandshakes?(): void
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const serveApp = getRequestListener(options.app.fetch, { hostname: DEFAULT_HOST, errorHandler: refuseRequest })
  const sendKept = keptAnswerSender(options)

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    // The answer gets the header `Connection: close`. Otherwise, the client could send its next request at the moment
    // when this process closes the connection.
    if (options.readiness.draining) response.shouldKeepAlive = false
    if (request.headers.host === undefined && request.httpVersion !== '1.0') {
      const { status, headers, body } = refusal(errors.invalid_request, 'The Host header is missing.', new Error('no Host header'))
      response.writeHead(status, headers).end(body)
      return
    }
    if (options.front?.(request, response) === true || options.direct?.start(request, response) === true) return
    if (sendKept(request, response)) return
    void serveApp(request, response)
  }

  /** Answers a request whose Host header and target form no valid URL. The app cannot handle such a request. */
  function refuseRequest(cause: unknown): Response {
    const { status, headers, body } = refusal(errors.invalid_request, 'The Host header or the address is malformed.', cause)
    return new Response(body, { status, headers })
  }

  /**
   * Creates the answer to a request that fails before it reaches the app. The answer has the same form as other errors,
   * and is counted and logged.
   */
  function refusal(definition: ErrorDefinition, message: string, cause: unknown) {
    const requestId = requestIdFrom(undefined)
    const fields = {
      request_id: requestId,
      error: definition.code,
      cause: (cause as NodeJS.ErrnoException).code ?? (cause as Error).message,
    }
    options.metrics.countError(definition.code)
    options.log.info(fields, 'connection_refused')
    const answer = jsonAnswer(definition.status, errorBody(new ApiError(definition, { message }), requestId))
    const headers = { ...COMMON_HEADERS, ...answer.headers, 'Cache-Control': NOT_CACHEABLE, 'X-Request-Id': requestId, Connection: 'close' }
    return { status: answer.status, headers, body: answer.body as string }
  }

  /**
   * Writes the answer directly to the socket, because Node creates no response object for a request that its parser
   * rejects.
   */
  function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
    // Once an answer has begun, further bytes would become a part of it.
    const isAnswering = (socket as AnsweringSocket)._httpMessage?.headersSent === true
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
      socket.destroy()
      return
    }
    const { definition, message } = parserRefusal(error.code)
    const { status, headers, body } = refusal(definition, message, error)
    const lines = Object.entries({ ...headers, 'Content-Length': String(Buffer.byteLength(body)) }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
    const linger = setTimeout(() => socket.destroy(), limits.lingerMs)
    socket.once('close', () => clearTimeout(linger))
  }

  const serverOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // Node's own refusal would have neither a request id nor a body.
    requireHostHeader: false,
    // With this option, Node treats the body of a request without content as already read.
    optimizeEmptyRequests: true,
  }
  const { tls, log, metrics } = options
  const { server, scheme, cutHandshakes }: Listener =
    tls === undefined
      ? { server: createServer(serverOptions, onRequest), scheme: 'http' }
      : { ...secureServer({ serverOptions, onRequest, tls, log, registry: metrics.registry }), scheme: 'https' }
  server.on('clientError', refuseConnection)
  // Node would refuse every expectation except `100-continue` with an answer that has neither a request id nor a body.
  // Servers may ignore such an expectation (RFC 9110, 10.1.1).
  server.on('checkExpectation', onRequest)
  if (options.connections !== undefined) server.on('connection', options.connections.admit)
  return {
    url: await listen(server, { host: options.host, port: options.port, setting: options.portSetting ?? 'API_PORT', scheme }),
    connections: () => new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    async close(drainTimeoutMs) {
      const drained = drain(server, drainTimeoutMs)
      cutHandshakes?.()
      return await drained
    },
  }
}

function parserRefusal(code: string | undefined): { definition: ErrorDefinition; message: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { definition: errors.headers_too_large, message: errors.headers_too_large.message }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { definition: errors.request_timeout, message: errors.request_timeout.message }
    case 'HPE_INVALID_URL':
      return { definition: errors.invalid_request, message: 'The address must be ASCII. Percent-encode all other characters as UTF-8.' }
    default:
      return { definition: errors.invalid_request, message: 'This is not a valid HTTP request.' }
  }
}

async function drain(server: Server | SecureServer, timeoutMs: number): Promise<number> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const sweep = setInterval(() => server.closeIdleConnections(), DRAIN_SWEEP_MS)
  let cut = 0
  const deadline = setTimeout(() => {
    server.getConnections((_error, count) => {
      cut = count
      server.closeAllConnections()
    })
  }, timeoutMs)
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
  return cut
}
