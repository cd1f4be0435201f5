import { z } from '@hono/zod-openapi'
import { jsonAnswer } from './answer.ts'
import { ApiError, errors } from './errors.ts'
import type { HttpMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import { bind, defineRoute } from './route.ts'
import type { ServiceRoutes } from './service-routes.ts'

const Status = z.object({ status: z.string() }).openapi('Status')
const MissingPart = z.object({ name: z.string(), reason: z.string() })
const ReadyStatus = z
  .object({
    status: z.string(),
    degraded: z.array(MissingPart).openapi({ description: 'Parts that are down. Only some requests need them.' }),
  })
  .openapi('ReadyStatus')

const livez = defineRoute({
  method: 'get',
  path: '/livez',
  operationId: 'livez',
  summary: 'Report whether the process is alive',
  description: 'Checks nothing but the process itself. Restart the process if it does not answer.',
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The process is alive.', schema: Status, example: { status: 'alive' } } },
  errors: [],
})

const readyz = defineRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'readyz',
  summary: 'Report whether the process accepts requests',
  description:
    '503 `not_ready` lists in `missing` what the process waits for, such as a server that does not respond or a view that is still being built. A process that is shutting down is not ready either.',
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The process accepts requests.', schema: ReadyStatus, example: { status: 'ready', degraded: [] } } },
  errors: [errors.not_ready],
})

const metricsRoute = defineRoute({
  method: 'get',
  path: '/metrics',
  operationId: 'metrics',
  summary: 'Get metrics',
  description: 'Metrics of this process in the text format of Prometheus.',
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The metrics.', mediaType: 'text/plain' } },
  errors: [],
})

/** The routes for load balancers, orchestrators and Prometheus. */
export function operationsService(readiness: Readiness, metrics: HttpMetrics): ServiceRoutes {
  async function answerReady() {
    const { missing, degraded } = await readiness.report()
    if (missing.length === 0) return jsonAnswer(200, { status: 'ready', degraded })
    throw new ApiError(errors.not_ready, {
      message: `Missing: ${missing.map((one) => one.name).join(', ')}.`,
      fields: { missing, degraded },
    })
  }

  async function answerMetrics() {
    return { status: 200, headers: { 'Content-Type': metrics.registry.contentType }, body: await metrics.text() }
  }

  return {
    name: 'operations',
    description: 'Health and metrics of this process.',
    // Its routes need no user.
    isUserId: () => false,
    routes: [bind(livez, () => jsonAnswer(200, { status: 'alive' })), bind(readyz, answerReady), bind(metricsRoute, answerMetrics)],
    errors: Object.values(errors),
    probes: [],
  }
}
