import { fraudAudit, fraudSettingsDecisions } from '../../../schemas/fraud/topics.ts'
import { fraudAuditTable } from '../../../state/tables/fraud/audit.ts'
import { fraudRuleSetsView } from '../../../state/views/fraud/rule-sets.ts'
import { decisionView } from '../../../state/views/results.ts'
import { tableSink, viewSink } from '../../sinks.ts'

/**
 * Sink that writes the versions of the rule set that can be restored, and command results, to a view. API instances
 * wait for these results.
 */
export const settingsSinks = [viewSink('fraud-settings-view', decisionView(fraudRuleSetsView), [fraudSettingsDecisions])]

/** Sink that writes all audit records, including those about the blocklist, to a table. No request waits for it. */
export const settingsRecordSinks = [tableSink('fraud-audit-table', fraudAuditTable, fraudAudit)]
