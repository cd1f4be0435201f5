import { pageFiles } from '../../kit/page/files.ts'
import { bind } from '../../kit/route.ts'
import type { FraudPart } from '../part.ts'
import { deskFileRoute, deskRoute } from './routes.ts'
import { type UserTransactionsDeps, userTransactions } from './user-transactions.ts'

const FILES = [
  'style.css',
  'main.js',
  'ask-again.js',
  'backtest.js',
  'backtest-report.js',
  'case.js',
  'case-file.js',
  'cities.js',
  'condition.js',
  'factors.js',
  'lost-changes.js',
  'map.js',
  'messages.js',
  'models.js',
  'own-changes.js',
  'places.js',
  'plots.js',
  'queue.js',
  'rule-editor.js',
  'rule-statistics.js',
  'rules.js',
  'snoozes.js',
  'table.js',
  'text.js',
  'timeline.js',
  'verdict.js',
  'versions.js',
]

/** Creates the routes of the analysts' desk: the page itself, and the routes that only this page needs. */
export function deskPart(deps: UserTransactionsDeps): FraudPart {
  const files = pageFiles({ folder: new URL('./browser/', import.meta.url), files: FILES })
  return {
    routes: [
      bind(deskRoute, () => files.page('page.html')),
      bind(deskFileRoute, ({ params: { file } }) => files.file(file)),
      userTransactions(deps),
    ],
  }
}
