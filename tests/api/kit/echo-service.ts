import { z } from '@hono/zod-openapi'
import { jsonAnswer } from '../../../api/kit/answer.ts'
import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { type AddressRanges, addressRanges } from '../../../api/kit/client-address.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { etagOf } from '../../../api/kit/etag.ts'
import { booleanParameter, integerParameter } from '../../../api/kit/parameters.ts'
import { type AuthRule, type BoundRoute, bind, defineRoute, type Handler } from '../../../api/kit/route.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'

/** An address with a password. It must not appear in any response. */
export const INTERNAL_DETAIL = 'redis://user:hunter2@10.0.0.1'

function whoami(path: string, auth: AuthRule, options: { gateways?: AddressRanges; isExemptFromLimits?: boolean } = {}): BoundRoute {
  const definition = defineRoute({
    method: 'get',
    path,
    operationId: path.slice(1),
    summary: 'who',
    description: 'who calls',
    auth,
    isExemptFromLimits: options.isExemptFromLimits,
    answers: { 200: { description: 'the caller', schema: z.object({ kind: z.string().nullable(), subject: z.string().nullable() }) } },
    errors: [],
  })
  const answer: Handler<undefined, undefined, undefined> = ({ caller, log }) => {
    log.info({}, 'echoed')
    return jsonAnswer(200, { kind: caller?.kind ?? null, subject: caller?.subject ?? null })
  }
  return bind(definition, answer, { gateways: options.gateways })
}

const shared = { summary: 's', description: 'd', auth: { kind: 'open' } as const, errors: [] }
const anything = { 200: { description: 'ok', schema: z.unknown() } }

const query = defineRoute({
  ...shared,
  method: 'get',
  path: '/query',
  operationId: 'query',
  query: z.object({
    size: integerParameter({ minimum: 1, maximum: 30, default: 7, description: 'a size' }),
    flag: booleanParameter({ default: false, description: 'a flag' }),
  }),
  answers: anything,
})

const item = defineRoute({
  ...shared,
  method: 'get',
  path: '/items/{name}/detail',
  operationId: 'item',
  params: z.object({ name: z.string() }),
  answers: anything,
})

const write = defineRoute({
  ...shared,
  method: 'put',
  path: '/items/{name}',
  operationId: 'write',
  params: z.object({ name: z.string() }),
  body: z.object({ text: z.string(), numbers: z.array(z.number()).optional() }),
  maxBodyBytes: 64,
  answers: anything,
})

const cached = defineRoute({
  ...shared,
  method: 'get',
  path: '/cached',
  operationId: 'cached',
  auth: { kind: 'optional' },
  answers: anything,
})
const broken = defineRoute({ ...shared, method: 'get', path: '/broken', operationId: 'broken', answers: anything })
const busy = defineRoute({ ...shared, method: 'get', path: '/busy', operationId: 'busy', answers: anything })
const endless = defineRoute({ ...shared, method: 'get', path: '/endless', operationId: 'endless', timeoutMs: 20, answers: anything })

/**
 * Creates a service whose routes show what the kit passes to handlers, and what it does if a handler fails or hangs.
 */
export function echoService(state: { runs: number; reusableUntil?: number } = { runs: 0 }): ServiceRoutes {
  return {
    name: 'echo',
    description: 'echoes its input',
    errors: [],
    isUserId: isDecimalUserId,
    probes: [],
    routes: [
      whoami('/open', { kind: 'open' }),
      whoami('/optional', { kind: 'optional' }),
      whoami('/optional-admin', { kind: 'optional', anySubjectOf: 'admin' }),
      whoami('/user', { kind: 'user' }),
      whoami('/internal', { kind: 'scope', scope: 'internal' }),
      whoami('/either', { kind: 'scope', scope: ['internal', 'admin'] }),
      whoami('/certified', { kind: 'scope', scope: ['internal', 'admin'], orCertificate: true }, { isExemptFromLimits: true }),
      whoami(
        '/gateway',
        { kind: 'scope', scope: 'internal', orCertificate: true },
        { gateways: addressRanges(['203.0.113.0/24', '2001:db8::/64']), isExemptFromLimits: true },
      ),
      bind(query, (input) => jsonAnswer(200, input.query)),
      bind(item, (input) => jsonAnswer(200, input.params)),
      bind(write, (input) => jsonAnswer(200, input.body)),
      bind(cached, () => {
        const body = JSON.stringify({ run: ++state.runs })
        const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60', ETag: etagOf(body), Vary: 'Accept' }
        return { status: 200, headers, body, reusableUntil: state.reusableUntil }
      }),
      bind(broken, () => {
        throw new Error(`cannot reach ${INTERNAL_DETAIL}`)
      }),
      bind(busy, () => {
        throw new ApiError(errors.unavailable, { retryAfter: 3, fields: { command_id: 'c-1' } })
      }),
      bind(endless, () => new Promise(() => undefined)),
    ],
  }
}
