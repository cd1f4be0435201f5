import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { recommendationErrors } from '../errors.ts'

const INTERNAL = { kind: 'scope', scope: 'internal' } as const
const MAX_PERCENT = 50
const VERSION_CHARACTERS = 128

const version = z.string().min(1).max(VERSION_CHARACTERS).openapi({ example: '20260801T120000-1f2e3d4c' })
const metrics = z.record(z.string(), z.number())

const shownVersion = z
  .object({
    version,
    sequence: z.int(),
    trained_at: z.iso.datetime(),
    learned_until: z.iso.datetime().openapi({ description: 'The model has learned only from events before this time.' }),
    bytes: z.int().openapi({ description: 'Size of the files of the model.' }),
    metrics,
  })
  .openapi('RecommendationModelVersion')

const shownRun = z
  .object({
    run_id: z.string(),
    request_ids: z.array(z.string()),
    state: z.enum(['RUNNING', 'IN_FORCE', 'REFUSED', 'SKIPPED', 'FAILED']),
    reason: z.string(),
    version: z.string().nullable(),
    compared_with: z.string().nullable(),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
    learned_until: z.iso.datetime().nullable(),
    metrics,
  })
  .openapi('RecommendationModelRun')

const accepted = z.object({ request_id: z.string() }).openapi('RecommendationModelRequest')
const ACCEPTED = { description: 'The request is stored safely. It takes effect within seconds.', schema: accepted }

export const modelsRoute = defineRoute({
  method: 'get',
  path: '/internal/models',
  operationId: 'recommendationModels',
  summary: 'Get the trained models and the results of the last training runs',
  description:
    'The service keeps the five newest models, the champion, the challenger, and the model that a roll-back would restore. `answering` is the version of the champion that this process uses now, or `rules-1` if it uses the rules.',
  auth: INTERNAL,
  answers: {
    200: {
      description: 'The models.',
      schema: z
        .object({
          answering: z.string(),
          champion: z.string().nullable(),
          challenger: z.string().nullable(),
          challenger_percent: z.int(),
          versions: z.array(shownVersion),
          runs: z.array(shownRun),
          degraded: z
            .array(z.literal('runs'))
            .openapi({ description: 'Contains `runs` if the training runs cannot be read now. `runs` is then empty.' }),
        })
        .openapi('RecommendationModels'),
    },
  },
  errors: [errors.not_ready],
})

export const trainRoute = defineRoute({
  method: 'post',
  path: '/internal/models/train',
  operationId: 'trainRecommendations',
  summary: 'Train a model now',
  description:
    'If a training run is already in progress, it also serves this request. `GET /internal/models` shows the run with this request_id, and the reason why its model did or did not become the champion.',
  auth: INTERNAL,
  answers: { 202: ACCEPTED },
  errors: [errors.not_ready, errors.unavailable],
})

export const promoteModelRoute = defineRoute({
  method: 'post',
  path: '/internal/models/promote',
  operationId: 'promoteRecommendationModel',
  summary: 'Make a stored model the champion',
  description: 'The champion is the model that makes the lists. A roll-back can restore the current champion.',
  auth: INTERNAL,
  body: z.strictObject({ version }).openapi('PromoteRecommendationModel'),
  bodyExample: { version: '20260801T120000-1f2e3d4c' },
  answers: { 202: ACCEPTED },
  errors: [errors.invalid_request, recommendationErrors.model_not_found, errors.not_ready, errors.unavailable],
})

export const rollBackModelRoute = defineRoute({
  method: 'post',
  path: '/internal/models/rollback',
  operationId: 'rollBackRecommendationModel',
  summary: 'Restore the previous champion',
  description: 'A roll-back of the first champion restores the rules.',
  auth: INTERNAL,
  answers: { 202: ACCEPTED },
  errors: [recommendationErrors.no_earlier_model, errors.not_ready, errors.unavailable],
})

export const challengeModelRoute = defineRoute({
  method: 'post',
  path: '/internal/models/challenger',
  operationId: 'challengeRecommendationModel',
  summary: 'Try a model with a share of the users',
  description: 'The users are chosen by a hash of their id. `version: null` ends the trial.',
  auth: INTERNAL,
  body: z.strictObject({ version: version.nullable(), percent: z.int().min(0).max(MAX_PERCENT) }).openapi('ChallengeRecommendationModel'),
  bodyExample: { version: '20260801T120000-1f2e3d4c', percent: 10 },
  answers: { 202: ACCEPTED },
  errors: [
    errors.invalid_request,
    recommendationErrors.model_not_found,
    recommendationErrors.model_in_force,
    errors.not_ready,
    errors.unavailable,
  ],
})
