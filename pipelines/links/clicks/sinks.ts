import { clickDetails, linkStats } from '../../../schemas/links/topics.ts'
import { clicksTable } from '../../../state/tables/links/clicks.ts'
import { linkStatsView } from '../../../state/views/links/link-stats.ts'
import type { Runner } from '../../engine/index.ts'

import { type SinkContext, tableSink, viewSink } from '../../sinks.ts'

/** Statistics for the API, every click for analysts. */
export function clickSinks(context: SinkContext): Runner[] {
  return [viewSink('link-stats-view', linkStatsView, [linkStats], context), tableSink('clicks-table', clicksTable, clickDetails, context)]
}
