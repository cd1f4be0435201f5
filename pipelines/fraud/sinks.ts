import { fieldsOf, projection } from '../../schemas/avro/projection.ts'
import { fraudCases } from '../../schemas/fraud/cases/topics.ts'
import { type PackedProfile, packedProfiles } from '../../schemas/fraud/profile/packed.ts'
import { fraudRuleTallies } from '../../schemas/fraud/rule-stats/topics.ts'
import { fraudFeedback, fraudProfiles, txnScored } from '../../schemas/fraud/topics.ts'
import type { Topic } from '../../schemas/topic.ts'
import { fraudCasesTable } from '../../state/tables/fraud/cases.ts'
import { fraudFeaturesTable } from '../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../state/tables/fraud/feedback.ts'
import { fraudRuleTalliesTable } from '../../state/tables/fraud/rule-tallies.ts'
import { fraudTransactionsTable, type ScoredTransaction } from '../../state/tables/fraud/transactions.ts'
import { fraudCasesView } from '../../state/views/fraud/cases.ts'
import { fraudProfilesView } from '../../state/views/fraud/profiles.ts'
import { decisionView } from '../../state/views/results.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** `txn.scored` with only one of its features, the amount in US dollars. */
const scoredTransactions: Topic<string, ScoredTransaction> = {
  ...txnScored,
  value: projection<ScoredTransaction>(txnScored.value, [
    ...fieldsOf(txnScored.value).filter((name) => name !== 'features'),
    'features.amount_usd',
  ]),
}

/** Sink that writes cases and command results to a view. API instances wait for these results. */
export const fraudCasesSinks: readonly SinkDeclaration[] = [viewSink('fraud-cases-view', decisionView(fraudCasesView), [fraudCases])]

/** Profiles as bytes, because the view stores them without decoding. */
const encodedProfiles: Topic<string, PackedProfile> = { ...fraudProfiles, value: packedProfiles }

/** Sinks that no request waits for. */
export const fraudBulkSinks: readonly SinkDeclaration[] = [
  viewSink('fraud-profiles-view', fraudProfilesView, [encodedProfiles]),
  tableSink('fraud-transactions-table', fraudTransactionsTable, scoredTransactions),
  tableSink('fraud-features-table', fraudFeaturesTable, txnScored),
  tableSink('fraud-feedback-table', fraudFeedbackTable, fraudFeedback),
  tableSink('fraud-cases-table', fraudCasesTable, fraudCases),
  tableSink('fraud-rule-tallies-table', fraudRuleTalliesTable, fraudRuleTallies),
]
