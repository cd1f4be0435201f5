import { fraudAudit, fraudSettingsDecisions } from '../../../schemas/fraud/topics.ts'
import { fraudAuditTable } from '../../../state/tables/fraud/audit.ts'
import { fraudRuleSetsView } from '../../../state/views/fraud/rule-sets.ts'
import { decisionView } from '../../../state/views/results.ts'
import { tableSink, viewSink } from '../../sinks.ts'

/** Sink that writes command results to a view, where the waiting API instances read them. */
export const settingsSinks = [viewSink('fraud-settings-view', decisionView(fraudRuleSetsView), [fraudSettingsDecisions])]

/** Sink that stores the audit records of all changes in a table for later analysis. */
export const settingsRecordSinks = [tableSink('fraud-audit-table', fraudAuditTable, fraudAudit)]
