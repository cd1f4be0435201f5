import { limitAudit, limitDecisions, limitTraffic, limitViolations } from '../../schemas/limits/topics.ts'
import { limitAuditTable } from '../../state/tables/limits/audit.ts'
import { limitTrafficTable } from '../../state/tables/limits/traffic.ts'
import { limitViolationsTable } from '../../state/tables/limits/violations.ts'
import { limitsView } from '../../state/views/limits/limits.ts'
import { decisionView } from '../../state/views/results.ts'
import type { Runner } from '../engine/index.ts'
import { type SinkContext, tableSink, viewSink } from '../sinks.ts'

/** The results of commands, for the API that waits for them. */
export function limitSinks(context: SinkContext): Runner[] {
  return [viewSink('limits-view', decisionView(limitsView), [limitDecisions], context)]
}

/** Changes, violations and decided requests, for those who look back. */
export function limitRecordSinks(context: SinkContext): Runner[] {
  return [
    tableSink('limit-audit-table', limitAuditTable, limitAudit, context),
    tableSink('limit-violations-table', limitViolationsTable, limitViolations, context),
    tableSink('limit-traffic-table', limitTrafficTable, limitTraffic, context),
  ]
}
