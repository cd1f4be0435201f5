import { randomUUID } from 'node:crypto'
import { MODELS_KEY, modelRequests } from '../../../schemas/recommendations/models/topics.ts'
import type { ModelRequest, ModelRun, ModelVersion } from '../../../schemas/recommendations/types.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import { ApiError } from '../../kit/errors.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { recommendationErrors } from '../errors.ts'
import type { FollowedModels } from '../model/source.ts'
import type { RecommendationsPart } from '../part.ts'
import { RULES_VERSION } from '../rank/rules.ts'
import { lastRuns } from './last-runs.ts'
import { challengeModelRoute, modelsRoute, promoteModelRoute, rollBackModelRoute, trainRoute } from './routes.ts'

export interface ModelsDeps extends Pick<ServiceKit, 'facts' | 'tables' | 'now' | 'log'> {
  readonly models: Pick<FollowedModels, 'current' | 'history'>
}

/** Maximum number of training runs that are shown. */
const SHOWN_RUNS = 20

/**
 * Creates the routes that show the trained models, and publish operators' requests to the worker that trains models:
 * docs/services/recommendations.md#training
 */
export function modelsPart({ facts, tables, now, log, models }: ModelsDeps): RecommendationsPart {
  async function ask(
    caller: Caller | undefined,
    action: ModelRequest['action'],
    wanted: { version?: string | null; percent?: number } = {},
  ) {
    const { version = null, percent = 0 } = wanted
    const request_id = randomUUID()
    const requested_by = caller?.subject ?? ''
    await facts.publish(modelRequests, MODELS_KEY, { request_id, action, version, percent, requested_by, requested_at: now() })
    log.info({ request_id, action, version, percent, requested_by }, 'model_request')
    return jsonAnswer(202, { request_id })
  }

  function assertKept(version: string): void {
    if (!models.history()?.versions.some((known) => known.version === version)) throw new ApiError(recommendationErrors.model_not_found)
  }

  return {
    routes: [
      bind(modelsRoute, async () => {
        const { champion = null, challenger = null, challenger_percent = 0, versions = [] } = models.history() ?? {}
        const answering = models.current(undefined)?.version ?? RULES_VERSION
        const runs = await lastRuns({ tables, log }, SHOWN_RUNS)
        return jsonAnswer(200, {
          answering,
          champion,
          challenger,
          challenger_percent,
          versions: versions.map(shown),
          runs: (runs ?? []).map(shownRun),
          // Without ClickHouse, only the training runs are missing. Operators still need the list of models, for
          // example to roll back a bad one.
          degraded: runs === undefined ? ['runs'] : [],
        })
      }),
      bind(trainRoute, ({ caller }) => ask(caller, 'TRAIN')),
      bind(promoteModelRoute, async ({ caller, body: { version } }) => {
        assertKept(version)
        return await ask(caller, 'PROMOTE', { version })
      }),
      bind(rollBackModelRoute, async ({ caller }) => {
        if ((models.history()?.earlier.length ?? 0) === 0) throw new ApiError(recommendationErrors.no_earlier_model)
        // The request names the version to roll back from, because a training run may be about to replace the version
        // in force.
        return await ask(caller, 'ROLL_BACK', { version: models.history()?.champion ?? null })
      }),
      bind(challengeModelRoute, async ({ caller, body: { version, percent } }) => {
        if (version !== null) {
          assertKept(version)
          if (models.history()?.champion === version) throw new ApiError(recommendationErrors.model_in_force)
        }
        return await ask(caller, 'CHALLENGE', { version, percent })
      }),
    ],
  }
}

function shown({ version, sequence, trained_at, learned_until, files, metrics }: ModelVersion) {
  return {
    version,
    sequence,
    trained_at: isoOf(trained_at),
    learned_until: isoOf(learned_until),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    metrics,
  }
}

function shownRun({ started_at, ended_at, learned_until, ...run }: ModelRun) {
  return { ...run, started_at: isoOf(started_at), ended_at: isoOf(ended_at), learned_until: isoOf(learned_until) }
}

function isoOf(time: number): string
function isoOf(time: number | null): string | null
function isoOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}
