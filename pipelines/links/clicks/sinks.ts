import { linkStats } from '../../../schemas/topics.ts'
import { linkStatsView } from '../../../state/views/link-stats.ts'
import type { Runner } from '../../engine/runner.ts'

import type { SinkContext } from '../../services.ts'
import { viewSink } from '../../sinks.ts'

/** Statistics for the API. */
export function clickSinks(context: SinkContext): Runner[] {
  return [viewSink('link-stats-view', linkStatsView, [linkStats], context)]
}
