import { limitAudit, limitDecisions, limitTraffic, limitViolations } from '../../schemas/limits/topics.ts'
import { limitAuditTable } from '../../state/tables/limits/audit.ts'
import { limitTrafficTable } from '../../state/tables/limits/traffic.ts'
import { limitViolationsTable } from '../../state/tables/limits/violations.ts'
import { limitsView } from '../../state/views/limits/limits.ts'
import { decisionView } from '../../state/views/results.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** The results of commands, for the API that waits for them. */
export const limitSinks: readonly SinkDeclaration[] = [viewSink('limits-view', decisionView(limitsView), [limitDecisions])]

/** Changes, violations and decided requests, for those who look back. */
export const limitRecordSinks: readonly SinkDeclaration[] = [
  tableSink('limit-audit-table', limitAuditTable, limitAudit),
  tableSink('limit-violations-table', limitViolationsTable, limitViolations),
  tableSink('limit-traffic-table', limitTrafficTable, limitTraffic),
]
