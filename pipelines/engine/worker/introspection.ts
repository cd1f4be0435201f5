import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { browserRefusal } from '../../../runtime/browser-guard.ts'
import { collectProcessMetrics } from '../../../runtime/process-metrics.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import { type Answer, jsonAnswer as json, type QueryAccess, stateAnswer } from '../queries/state-endpoint.ts'
import type { Runner, Sample } from './runner.ts'

const METRIC_PREFIX = 'millrace_'
/**
 * Histogram buckets for the duration of commits. They range from idle commits on a fast broker to commits that wait for
 * a slow disk.
 */
const COMMIT_BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** The metrics of one worker process. */
export interface EngineMetrics {
  observeCommit(topology: string, seconds: number): void
  /** Returns the metrics in Prometheus' text format. */
  text(): Promise<string>
  readonly contentType: string
}

export function engineMetrics(runners: () => readonly Runner[], backend: Pick<StateBackend, 'stats'>): EngineMetrics {
  const registry = new Registry()
  collectProcessMetrics(registry)
  const commits = new Histogram({
    name: `${METRIC_PREFIX}commit_seconds`,
    help: 'Duration of one commit, all five steps',
    labelNames: ['topology'],
    buckets: COMMIT_BUCKETS_SECONDS,
    registers: [registry],
  })
  const known = new Map<string, Counter | Gauge>()

  function metricOf({ name, help, labels }: Sample): Counter | Gauge {
    let metric = known.get(name)
    if (metric === undefined) {
      const options = { name: METRIC_PREFIX + name, help, labelNames: Object.keys(labels), registers: [registry] }
      metric = name.endsWith('_total') ? new Counter(options) : new Gauge(options)
      known.set(name, metric)
    }
    return metric
  }

  function* samples(): Generator<Sample> {
    for (const runner of runners()) yield* runner.samples()
    const { diskBytes, memoryBytes } = backend.stats()
    yield { name: 'state_disk_bytes', help: 'State on disk', labels: {}, value: diskBytes }
    yield { name: 'state_memory_bytes', help: 'Memory of the state database', labels: {}, value: memoryBytes }
  }

  return {
    contentType: registry.contentType,
    observeCommit: (topology, seconds) => commits.observe({ topology }, seconds),
    text() {
      for (const metric of known.values()) metric.reset()
      for (const sample of samples()) metricOf(sample).inc(sample.labels, sample.value)
      return registry.metrics()
    },
  }
}

/** The HTTP server for health, metrics and introspection of the process. */
export interface Introspection {
  readonly port: number
  close(): Promise<void>
}

const TEXT = 'text/plain; charset=utf-8'
/**
 * Maximum number of connections. It is far more than scrapers and operators need. Node closes further connections at
 * once.
 */
const MAX_CONNECTIONS = 256
/**
 * Time after which a connection without any traffic is closed. Without this limit, clients that send nothing or read no
 * responses could use up the connections, and health probes would fail. No request takes this long while the brokers
 * respond.
 */
const SILENT_CONNECTION_MS = 30_000
const NOT_FOUND = { error: 'not_found', message: 'the paths are /livez, /readyz, /metrics, /topology, /tasks and /state' }

export interface IntrospectionParts {
  /** 0 chooses a free port. */
  readonly port: number
  readonly host: string
  readonly runners: () => readonly Runner[]
  readonly metrics: EngineMetrics
  readonly isStopping: () => boolean
  readonly queryAccess: QueryAccess
  /**
   * Host names of this server, if it listens on a loopback address. In that case the server refuses requests from web
   * pages, because a page could reach it through a browser on this machine.
   */
  readonly localNames?: readonly string[]
  /** How long a connection may stay without traffic before it is closed. @default 30 s */
  readonly silentConnectionMs?: number
}

/** Serves /livez, /readyz, /metrics, /topology (text; `?format=mermaid`), /tasks and /state. */
export async function serveIntrospection(parts: IntrospectionParts): Promise<Introspection> {
  const { runners, metrics } = parts

  function ready(): Answer {
    const missing = runners().flatMap((runner) => {
      const reason = runner.notReady()
      return reason === undefined ? [] : [{ name: runner.name, reason }]
    })
    if (parts.isStopping()) missing.push({ name: 'process', reason: 'it is stopping' })
    return missing.length === 0 ? json(200, { status: 'ready' }) : json(503, { status: 'not_ready', missing })
  }

  function described(format: string | null): Answer {
    const descriptions = runners().flatMap((runner) => runner.describe() ?? [])
    const texts = descriptions.map((description) => (format === 'mermaid' ? description.mermaid : description.text))
    return { status: 200, contentType: TEXT, body: texts.join('\n') }
  }

  async function answer(url: URL, authorization: string | undefined): Promise<Answer> {
    switch (url.pathname) {
      case '/livez':
        return json(200, { status: 'alive' })
      case '/readyz':
        return ready()
      case '/metrics':
        return { status: 200, contentType: metrics.contentType, body: await metrics.text() }
      case '/topology':
        return described(url.searchParams.get('format'))
      case '/tasks':
        return json(200, Object.fromEntries(runners().map((runner) => [runner.name, { kind: runner.kind, ...runner.report() }])))
      default:
        return (await stateAnswer(url, authorization, runners(), parts.queryAccess)) ?? json(404, NOT_FOUND)
    }
  }

  /**
   * Returns an error for a request that a web page may have caused, if this server listens on a loopback address;
   * otherwise undefined. Requests from web pages are refused, because some responses contain internal addresses and
   * state.
   */
  function refusal(headers: IncomingHttpHeaders): Answer | undefined {
    const names = parts.localNames
    const message = names === undefined ? undefined : browserRefusal(headers, { names, mayBeOpened: true })
    return message === undefined ? undefined : json(403, { error: 'forbidden', message })
  }

  function respond(response: ServerResponse, { status, contentType, body, headers }: Answer): void {
    response.writeHead(status, { 'content-type': contentType, ...headers }).end(body)
  }

  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      respond(response, json(405, { error: 'method_not_allowed', message: 'use GET or HEAD' }))
      return
    }
    Promise.resolve()
      .then(() => refusal(request.headers) ?? answer(new URL(request.url ?? '/', 'http://localhost'), request.headers.authorization))
      .catch((error: Error) => json(500, { error: 'internal_error', message: error.message }))
      .then((given) => respond(response, given))
      .catch(() => response.destroy())
  })
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(parts.silentConnectionMs ?? SILENT_CONNECTION_MS)
  await listen(server, parts.port, parts.host)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : parts.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cause = error.code === 'EADDRINUSE' ? `port ${port} is in use: set HEALTH_PORT to a free one, or 0` : error.message
      reject(new Error(`the health port cannot be opened: ${cause}`, { cause: error }))
    })
    server.listen(port, host, resolve)
  })
}
