import { trendOutput, trendRenewals, trendVolumes, userInterests } from '../../schemas/trends/topics.ts'
import { trendSnapshots } from '../../state/tables/trends/trend-snapshots.ts'
import { trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { interestsView } from '../../state/views/trends/interests.ts'
import { trendsView } from '../../state/views/trends/trends.ts'
import type { Runner } from '../engine/index.ts'
import { type SinkContext, tableSink, viewSink } from '../sinks.ts'

/** Lists and profiles for the API, snapshots and counts for analysts. */
export function trendSinks(context: SinkContext): Runner[] {
  return [
    viewSink('trends-view', trendsView, [trendOutput, trendRenewals], context),
    viewSink('interests-view', interestsView, [userInterests], context),
    tableSink('trend-snapshots-table', trendSnapshots, trendOutput, context),
    tableSink('trend-volumes-table', trendVolumesTable, trendVolumes, context),
  ]
}
