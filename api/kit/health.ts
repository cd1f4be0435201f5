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
  .object({ status: z.string(), degraded: z.array(MissingPart).openapi({ description: 'parts without which some requests fail' }) })
  .openapi('ReadyStatus')

const livez = defineRoute({
  method: 'get',
  path: '/livez',
  operationId: 'livez',
  summary: 'Is the process alive',
  description: 'Answers while the process can answer at all; looks at nothing else. Restart the process when it does not.',
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'alive', schema: Status, example: { status: 'alive' } } },
  errors: [],
})

const readyz = defineRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'readyz',
  summary: 'May this process get requests',
  description:
    '503 `not_ready` names in `missing` what is not there yet: a server that does not answer, a view that is still being built, a process that is stopping.',
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'ready', schema: ReadyStatus, example: { status: 'ready', degraded: [] } } },
  errors: [errors.not_ready],
})

const metricsRoute = defineRoute({
  method: 'get',
  path: '/metrics',
  operationId: 'metrics',
  summary: 'Metrics',
  description: "Prometheus' text format.",
  tag: 'operations',
  auth: { kind: 'open' },
  answers: { 200: { description: 'metrics', mediaType: 'text/plain' } },
  errors: [],
})

/** What the machinery around the API asks for. */
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
