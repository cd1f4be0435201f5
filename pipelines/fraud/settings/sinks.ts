import { fraudAudit, fraudSettingsDecisions } from '../../../schemas/fraud/topics.ts'
import { fraudAuditTable } from '../../../state/tables/fraud/audit.ts'
import { fraudRuleSetsView } from '../../../state/views/fraud/rule-sets.ts'
import { decisionView } from '../../../state/views/results.ts'
import { tableSink, viewSink } from '../../sinks.ts'

/** Sink of the results of commands, for the API instances that wait for them. */
export const settingsSinks = [viewSink('fraud-settings-view', decisionView(fraudRuleSetsView), [fraudSettingsDecisions])]

/** Sink that stores all changes for later analysis. */
export const settingsRecordSinks = [tableSink('fraud-audit-table', fraudAuditTable, fraudAudit)]
