import { z } from '@hono/zod-openapi'
import { jsonAnswer } from './answer.ts'
import { ApiError, errors } from './errors.ts'
import type { Missing, Readiness } from './readiness.ts'
import { bind, defineRoute } from './route.ts'
import type { ServiceRoutes } from './service-routes.ts'

const Status = z.object({ status: z.string() }).openapi('Status')
const MissingPart = z.object({ name: z.string() })
const ReadyStatus = z
  .object({
    status: z.string(),
    degraded: z
      .array(MissingPart)
      .openapi({ description: 'Parts that are down. The process is ready nevertheless, because only some requests need these parts.' }),
  })
  .openapi('ReadyStatus')

const livez = defineRoute({
  method: 'get',
  path: '/livez',
  operationId: 'livez',
  summary: 'Report whether the process is alive',
  description: 'Checks only the process itself. Restart a process that does not answer.',
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
    'The field `missing` of a 503 `not_ready` names the missing parts, such as a server that does not respond or a view that is still being built. The answer is up to a second old. A process that is shutting down is also reported as not ready.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The process accepts requests.', schema: ReadyStatus, example: { status: 'ready', degraded: [] } } },
  errors: [errors.not_ready],
})

/**
 * Returns a missing part without its reason, because reasons contain internal addresses. Operators get the reasons from
 * the operations server.
 */
function nameOnly({ name }: Missing): { name: string } {
  return { name }
}

/** Creates the health routes for load balancers and orchestrators. */
export function operationsService(readiness: Readiness): ServiceRoutes {
  async function answerReady() {
    const { missing, degraded } = await readiness.report()
    if (missing.length === 0) return jsonAnswer(200, { status: 'ready', degraded: degraded.map(nameOnly) })
    throw new ApiError(errors.not_ready, {
      message: `These parts are not ready: ${missing.map((one) => one.name).join(', ')}.`,
      fields: { missing: missing.map(nameOnly), degraded: degraded.map(nameOnly) },
    })
  }

  return {
    name: 'operations',
    description: 'Health of this process.',
    // None of the routes needs a user.
    isUserId: () => false,
    routes: [bind(livez, () => jsonAnswer(200, { status: 'alive' })), bind(readyz, answerReady)],
    errors: Object.values(errors),
    probes: [],
  }
}
