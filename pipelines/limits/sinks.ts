import { limitAudit, limitDecisions, limitTraffic, limitViolations } from '../../schemas/limits/topics.ts'
import { limitAuditTable } from '../../state/tables/limits/audit.ts'
import { limitTrafficTable } from '../../state/tables/limits/traffic.ts'
import { limitViolationsTable } from '../../state/tables/limits/violations.ts'
import { limitsView } from '../../state/views/limits/limits.ts'
import { decisionView } from '../../state/views/results.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** Sinks of the results of commands, for the API instances that wait for them. */
export const limitSinks: readonly SinkDeclaration[] = [viewSink('limits-view', decisionView(limitsView), [limitDecisions])]

/** Sinks of changes, violations and decided requests, for later analysis. */
export const limitRecordSinks: readonly SinkDeclaration[] = [
  tableSink('limit-audit-table', limitAuditTable, limitAudit),
  tableSink('limit-violations-table', limitViolationsTable, limitViolations),
  tableSink('limit-traffic-table', limitTrafficTable, limitTraffic),
]
