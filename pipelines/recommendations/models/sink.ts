import { join } from 'node:path'
import { modelRequests } from '../../../schemas/recommendations/models/topics.ts'
import type { ModelHistory } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { type BlobStore, UNTOUCHED_MS } from '../../../state/blobs/blob-store.ts'
import { connectBlobs } from '../../../state/blobs/connect.ts'
import { sweepBlobs } from '../../../state/blobs/sweep.ts'
import { groupJob, type Runner, type SinkSeat } from '../../engine/index.ts'
import type { WorkerPlace } from '../../service.ts'
import type { OwnSinkContext, SinkDeclaration } from '../../sinks.ts'
import type { RecommendationsTrainingSettings } from '../settings.ts'
import { modelJob } from './job.ts'
import { trainingProgram } from './training.ts'

export interface TrainingPlace extends RecommendationsTrainingSettings {
  /** Folder for the files of training runs on this machine. */
  readonly folder: string
}

/**
 * How long model files are kept if no record names them. This is far longer than it takes to write the record of a new
 * model.
 */
const KEPT_UNNAMED_MS = Math.max(DAY_MS, UNTOUCHED_MS)

/** Trains the models of recommendations, in one worker at a time. */
export const modelTraining: SinkDeclaration<TrainingPlace> = {
  name: 'recommendation-models',
  topics: [modelRequests],
  store: 'blobs',
  open({ config, transport, registry, runtime, resources }: OwnSinkContext<TrainingPlace>, seat: SinkSeat): Runner {
    const { folder, tools, python, trainEveryMs } = resources
    let blobs: BlobStore | undefined

    async function sweep({ versions }: ModelHistory): Promise<void> {
      blobs ??= await connectBlobs(config.models)
      const kept = new Set(versions.flatMap(({ files }) => files.map(({ hash }) => hash)))
      const before = runtime.now() - KEPT_UNNAMED_MS
      const referenced = async (hashes: readonly string[]) => new Set(hashes.filter((hash) => kept.has(hash)))
      await sweepBlobs({ blobs, referenced, before, signal: new AbortController().signal })
    }

    const train = trainingProgram({ folder, tools, python })
    return groupJob(modelJob({ train, trainEveryMs, sweep, runtime }), { transport, registry, seat, runtime })
  },
}

export function trainingPlace(settings: RecommendationsTrainingSettings, { stateDir }: WorkerPlace): TrainingPlace {
  return { ...settings, folder: join(stateDir, 'recommendation-training') }
}
