import * as backtestRoutes from '../../../api/fraud/backtest/routes.ts'
import * as blocklistRoutes from '../../../api/fraud/blocklist/routes.ts'
import * as casesRoutes from '../../../api/fraud/cases/routes.ts'
import * as desk from '../../../api/fraud/desk/routes.ts'
import { userTransactionsRoute } from '../../../api/fraud/desk/user-transactions.ts'
import { fraudErrors } from '../../../api/fraud/errors.ts'
import * as listRoutes from '../../../api/fraud/lists/routes.ts'
import * as modelRoutes from '../../../api/fraud/models/routes.ts'
import * as profileRoutes from '../../../api/fraud/profiles/routes.ts'
import * as ruleStatsRoutes from '../../../api/fraud/rule-stats/routes.ts'
import * as ruleRoutes from '../../../api/fraud/rules/routes.ts'
import * as scoreRoutes from '../../../api/fraud/score/routes.ts'
import * as snoozeRoutes from '../../../api/fraud/snoozes/routes.ts'
import * as transactionRoutes from '../../../api/fraud/transactions/routes.ts'
import { bind } from '../../../api/kit/route.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { testApp } from '../kit/harness.ts'

/** The exported route definitions, one entry for each file. */
// biome-ignore format: one line per file
const DEFINITIONS: readonly Readonly<Record<string, unknown>>[] = [
  scoreRoutes,
  transactionRoutes,
  profileRoutes,
  blocklistRoutes,
  casesRoutes,
  modelRoutes,
  desk,
  backtestRoutes,
  ruleStatsRoutes,
  ruleRoutes,
  snoozeRoutes,
  listRoutes,
  { userTransactionsRoute },
]

/** Builds the fraud API only for its OpenAPI document and error codes. Its handlers never run. */
export async function fraudApi() {
  const routes = DEFINITIONS.flatMap((file) => Object.values(file)).map((definition) =>
    bind(definition as Parameters<typeof bind>[0], () => {
      throw new Error('not called')
    }),
  )
  const fields = { name: 'fraud', description: '', isUserId: () => true, probes: [] }
  const service: ServiceRoutes = { ...fields, routes, errors: Object.values(fraudErrors) }
  return { ...(await testApp({ services: [service] })), service }
}
