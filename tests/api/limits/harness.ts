import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { bind } from '../../../api/kit/route.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { limitsErrors } from '../../../api/limits/errors.ts'
import * as limitsRoutes from '../../../api/limits/routes.ts'
import { testApp } from '../kit/harness.ts'

/** Builds the limits API only for its OpenAPI document and error codes. Its handlers never run. */
export async function limitsApi() {
  const routes = Object.values(limitsRoutes).map((definition) =>
    bind(definition as typeof limitsRoutes.listRulesRoute, () => {
      throw new Error('not called')
    }),
  )
  const fields = { name: 'rate limits', description: '', isUserId: isDecimalUserId, probes: [] }
  const service: ServiceRoutes = { ...fields, routes, errors: Object.values(limitsErrors) }
  return { ...(await testApp({ services: [service] })), service }
}
