import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { browserRefusal } from '../../runtime/browser-guard.ts'
import { isLoopbackHost } from './client-address.ts'
import { listen } from './listen.ts'
import type { HttpMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'

export interface OperationsServerOptions {
  readonly readiness: Readiness
  readonly metrics: Pick<HttpMetrics, 'registry' | 'text'>
  readonly host: string
  /** 0 chooses any free port. */
  readonly port: number
  /** @default 30 s */
  readonly silentConnectionMs?: number
}

export interface OperationsServer {
  /** `http://127.0.0.1:9500` */
  readonly url: string
  close(): Promise<void>
}

/** Maximum number of connections. Scrapers and operators need far fewer. */
const MAX_CONNECTIONS = 64
/**
 * Time after which a connection without any traffic is closed. Without this limit, clients that send nothing or read no
 * answers could use up the connections, and health probes would fail.
 */
const SILENT_CONNECTION_MS = 30_000
const PATHS = ['/livez', '/readyz', '/metrics']

interface OperationsAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/**
 * Serves `/metrics`, `/livez`, and `/readyz` with the reasons why parts are missing. The reasons contain internal
 * addresses, so this server has a separate port. The port must be reachable only from the internal network.
 */
export async function startOperationsServer({
  readiness,
  metrics,
  host,
  port,
  silentConnectionMs = SILENT_CONNECTION_MS,
}: OperationsServerOptions): Promise<OperationsServer> {
  async function answer(path: string): Promise<OperationsAnswer> {
    switch (path) {
      case '/livez':
        return json(200, { status: 'alive' })
      case '/readyz': {
        const { missing, degraded } = await readiness.report()
        return missing.length === 0 ? json(200, { status: 'ready', degraded }) : json(503, { status: 'not_ready', missing, degraded })
      }
      case '/metrics':
        return { status: 200, contentType: metrics.registry.contentType, body: await metrics.text() }
      default:
        return json(404, { error: 'not_found', message: `this server has only ${PATHS.join(', ')}` })
    }
  }

  /**
   * Returns the answer that refuses a request; undefined if the request is accepted. A server on a loopback address
   * refuses requests from web pages, because any page that is open in a browser on this machine could send them.
   */
  function refusal({ method, headers }: IncomingMessage): OperationsAnswer | undefined {
    const message = isLoopbackHost(host) ? browserRefusal(headers, { names: [host], mayBeOpened: true }) : undefined
    if (message !== undefined) return json(403, { error: 'forbidden', message })
    return method === 'GET' || method === 'HEAD'
      ? undefined
      : json(405, { error: 'method_not_allowed', message: 'this server accepts only GET and HEAD' })
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0]
    const given = refusal(request) ?? (await answer(path).catch(failed))
    response.writeHead(given.status, { 'Content-Type': given.contentType, 'Cache-Control': 'no-store' }).end(given.body)
  }

  const server = createServer((request, response) => void respond(request, response))
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(silentConnectionMs)
  return {
    url: await listen(server, { host, port, setting: 'OPERATIONS_PORT' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function failed(error: Error): OperationsAnswer {
  return json(500, { error: 'internal_error', message: error.message })
}

function json(status: number, value: unknown): OperationsAnswer {
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(value) }
}
