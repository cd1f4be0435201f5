import { limitAudit, limitDecisions, limitTraffic, limitViolations } from '../../schemas/limits/topics.ts'
import { limitAuditTable } from '../../state/tables/limits/audit.ts'
import { limitTrafficTable } from '../../state/tables/limits/traffic.ts'
import { limitViolationsTable } from '../../state/tables/limits/violations.ts'
import { limitsView } from '../../state/views/limits/limits.ts'
import { decisionView } from '../../state/views/results.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** Sink that writes command results to a view, where the waiting API instances read them. */
export const limitSinks: readonly SinkDeclaration[] = [viewSink('limits-view', decisionView(limitsView), [limitDecisions])]

/** Sinks that write changes, violations and counts of decided requests to tables for later analysis. */
export const limitRecordSinks: readonly SinkDeclaration[] = [
  tableSink('limit-audit-table', limitAuditTable, limitAudit),
  tableSink('limit-violations-table', limitViolationsTable, limitViolations),
  tableSink('limit-traffic-table', limitTrafficTable, limitTraffic),
]
