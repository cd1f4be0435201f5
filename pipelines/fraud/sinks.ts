import { fraudRuleTallies } from '../../schemas/fraud/rule-stats/topics.ts'
import { fraudFeedback, fraudProfiles, txnScored } from '../../schemas/fraud/topics.ts'
import { fraudFeaturesTable } from '../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../state/tables/fraud/feedback.ts'
import { fraudRuleTalliesTable } from '../../state/tables/fraud/rule-tallies.ts'
import { fraudTransactionsTable } from '../../state/tables/fraud/transactions.ts'
import { fraudProfilesView } from '../../state/views/fraud/profiles.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** Sinks that no request waits for. */
export const fraudBulkSinks: readonly SinkDeclaration[] = [
  viewSink('fraud-profiles-view', fraudProfilesView, [fraudProfiles]),
  tableSink('fraud-transactions-table', fraudTransactionsTable, txnScored),
  tableSink('fraud-features-table', fraudFeaturesTable, txnScored),
  tableSink('fraud-feedback-table', fraudFeedbackTable, fraudFeedback),
  tableSink('fraud-rule-tallies-table', fraudRuleTalliesTable, fraudRuleTallies),
]
