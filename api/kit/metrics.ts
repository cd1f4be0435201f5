import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { collectProcessMetrics } from '../../runtime/process-metrics.ts'

/** Histogram buckets, from the latency of a cached answer to the time limit of handlers. */
const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface HttpMetrics {
  readonly registry: Registry
  /**
   * Counts and measures a request.
   * @param route the template of the route. The requested path would give the label too many values.
   */
  observe(method: string, route: string, status: number, seconds: number): void
  countError(code: string): void
  readonly inFlight: Gauge
  readonly reused: Counter
  /** Returns all metrics of the registry in the text format of Prometheus. */
  text(): Promise<string>
}

/**
 * Creates the HTTP metrics of an app. They have a registry of their own, so that one process can run several apps.
 * @param options.process whether to add the metrics of the Node process (event loop, memory, garbage collection)
 */
export function httpMetrics(options: { process: boolean }): HttpMetrics {
  const registry = new Registry()
  if (options.process) collectProcessMetrics(registry)
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of the headers until the answer is ready to be sent',
    labelNames: ['method', 'route', 'status'],
    buckets: LATENCY_BUCKETS_SECONDS,
    registers: [registry],
  })
  const failures = counter(registry, 'http_errors_total', 'Error responses, by error code', 'code')
  const inFlight = new Gauge({ name: 'http_requests_in_flight', help: 'Requests that are being processed', registers: [registry] })
  const reused = counter(registry, 'http_answers_reused_total', 'Requests that got a kept answer, without running their handler')
  /**
   * Labelled metrics, keyed by method, route and status. They are cached, because a lookup by labels is the most
   * expensive operation of prom-client.
   */
  const observers = new Map<string, (seconds: number) => void>()

  return {
    registry,
    inFlight,
    reused,
    observe(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`
      let observer = observers.get(key)
      if (observer === undefined) {
        const child = duration.labels({ method, route, status: String(status) })
        observer = (value) => child.observe(value)
        observers.set(key, observer)
      }
      observer(seconds)
    },
    countError(code) {
      failures.inc({ code })
    },
    text() {
      return registry.metrics()
    },
  }
}

export function counter(registry: Registry, name: string, help: string, ...labelNames: string[]): Counter {
  return new Counter({ name, help, labelNames, registers: [registry] })
}

/** Adds a gauge whose value is computed each time the metrics are read. */
export function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
