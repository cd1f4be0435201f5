import { modelRuns } from '../../schemas/recommendations/models/topics.ts'
import { interactions, itemNeighbours, items, recommendationsServed, userFeatures } from '../../schemas/recommendations/topics.ts'
import { interactionsTable } from '../../state/tables/recommendations/interactions.ts'
import { modelRunsTable } from '../../state/tables/recommendations/model-runs.ts'
import { recommendationsServedTable } from '../../state/tables/recommendations/recommendations-served.ts'
import { recommendationItemsView } from '../../state/views/recommendations/items.ts'
import { itemNeighboursView } from '../../state/views/recommendations/neighbours.ts'
import { userFeaturesView } from '../../state/views/recommendations/users.ts'
import type { PipelineService } from '../service.ts'
import { tableSink, viewSink } from '../sinks.ts'
import { modelTraining, type TrainingPlace, trainingPlace } from './models/sink.ts'
import { type RecommendationsTrainingSettings, recommendationsTrainingSettings } from './settings.ts'
import { itemSignals } from './signals/topology.ts'
import { userFeaturesTopology } from './users/topology.ts'

const recommendations: PipelineService<RecommendationsTrainingSettings, TrainingPlace> = {
  name: 'recommendations',
  role: 'bulk',
  settings: recommendationsTrainingSettings,
  prepare: trainingPlace,
  topologies: () => [userFeaturesTopology, itemSignals],
  sinks: [
    viewSink('user-features-view', userFeaturesView, [userFeatures]),
    viewSink('item-neighbours-view', itemNeighboursView, [itemNeighbours]),
    viewSink('recommendation-items-view', recommendationItemsView, [items]),
    tableSink('interactions-table', interactionsTable, interactions),
    tableSink('recommendations-served-table', recommendationsServedTable, recommendationsServed),
    tableSink('model-runs-table', modelRunsTable, modelRuns),
    modelTraining,
  ],
}

export const recommendationsServices: readonly PipelineService[] = [recommendations]
