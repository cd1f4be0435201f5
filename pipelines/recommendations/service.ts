import { interactions, itemNeighbours, items, recommendationsServed, userFeatures } from '../../schemas/recommendations/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import { interactionsTable } from '../../state/tables/recommendations/interactions.ts'
import { recommendationsServedTable } from '../../state/tables/recommendations/recommendations-served.ts'
import { recommendationItemsView } from '../../state/views/recommendations/items.ts'
import { itemNeighboursView } from '../../state/views/recommendations/neighbours.ts'
import { userFeaturesView } from '../../state/views/recommendations/users.ts'
import type { PipelineService } from '../service.ts'
import { tableSink, viewSink } from '../sinks.ts'
import { itemSignals } from './signals/topology.ts'
import { userFeaturesTopology } from './users/topology.ts'

export const recommendationsServices: readonly PipelineService[] = [
  {
    name: 'recommendations',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [userFeaturesTopology, itemSignals],
    sinks: [
      viewSink('user-features-view', userFeaturesView, [userFeatures]),
      viewSink('item-neighbours-view', itemNeighboursView, [itemNeighbours]),
      viewSink('recommendation-items-view', recommendationItemsView, [items]),
      tableSink('interactions-table', interactionsTable, interactions),
      tableSink('recommendations-served-table', recommendationsServedTable, recommendationsServed),
    ],
  },
]
