import { clickDetails, linkStats } from '../../../schemas/links/topics.ts'
import { clicksTable } from '../../../state/tables/links/clicks.ts'
import { linkStatsView } from '../../../state/views/links/link-stats.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../../sinks.ts'

/** Sinks that write statistics to a view for the API, and every click to a table for analysts. */
export const clickSinks: readonly SinkDeclaration[] = [
  viewSink('link-stats-view', linkStatsView, [linkStats]),
  tableSink('clicks-table', clicksTable, clickDetails),
]
