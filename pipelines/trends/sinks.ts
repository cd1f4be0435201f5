import { trendOutput, trendRareVolumes, trendRenewals, trendVolumes, userInterests } from '../../schemas/trends/topics.ts'
import { trendListBytes } from '../../schemas/trends/trend-list-bytes.ts'
import { rareVolumeBytes } from '../../state/tables/trends/rare-volume-bytes.ts'
import { trendRareVolumesTable } from '../../state/tables/trends/trend-rare-volumes.ts'
import { trendSnapshots } from '../../state/tables/trends/trend-snapshots.ts'
import { trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { interestsView } from '../../state/views/trends/interests.ts'
import { trendsView } from '../../state/views/trends/trends.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

const output = { ...trendOutput, value: trendListBytes(trendOutput.value) }
const renewals = { ...trendRenewals, value: output.value }
const rareVolumes = { ...trendRareVolumes, value: rareVolumeBytes(trendRareVolumes.value) }

/**
 * Sinks that write lists and users' interests to views for the API, and snapshots and counts to tables for analysts.
 */
export const trendSinks: readonly SinkDeclaration[] = [
  viewSink('trends-view', trendsView, [output, renewals]),
  viewSink('interests-view', interestsView, [userInterests]),
  tableSink('trend-snapshots-table', trendSnapshots, output),
  tableSink('trend-volumes-table', trendVolumesTable, trendVolumes),
  tableSink('trend-rare-volumes-table', trendRareVolumesTable, rareVolumes),
]
