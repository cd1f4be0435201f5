import { MODELS, type ModelName, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import { readFeatureCounts, readScoreCounts, sampledHashes } from '../../../state/tables/fraud/model-statistics.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { ModelVersions } from '../in-force.ts'
import type { FraudPart } from '../part.ts'
import type { FraudSettingsInForce } from '../settings-in-force.ts'
import type { ModelAssignments } from './assignment.ts'
import { SHIPPED_VERSIONS } from './folder.ts'
import { assignmentJson } from './model.ts'
import type { OpenModels } from './open.ts'
import { curvesOf } from './report/curves.ts'
import { stabilityIndex } from './report/drift.ts'
import { challengerRoute, modelReportRoute, modelsRoute, promoteRoute, rollBackModelsRoute } from './routes.ts'

export interface ModelsPartDeps {
  readonly models: Pick<OpenModels, 'active' | 'folders'>
  readonly assignments: ModelAssignments
  readonly settings: Pick<FraudSettingsInForce, 'assignedModels' | 'models' | 'policy'>
  readonly tables: TableReader
  /** Epoch ms. */
  now(): number
}

/** Creates the routes that operators use to evaluate and change the models. */
export function modelsPart({ models, assignments, settings, tables, now }: ModelsPartDeps): FraudPart {
  /** Returns the policy in force with the thresholds that were calibrated for the given models. */
  async function policyFor(versions: ModelVersions): Promise<Policy> {
    const { available } = await models.folders()
    const alone = { ...settings.policy.alone }
    for (const [name, version] of Object.entries(versions) as [ModelName, string][]) {
      const found = available.find(({ manifest }) => manifest.name === name && manifest.version === version)
      if (found === undefined) throw new ApiError(fraudErrors.model_not_found, { message: `There is no model ${name} ${version}.` })
      alone[name] = found.manifest.alone
    }
    return { ...settings.policy, alone }
  }

  async function report() {
    const versions = models.active?.versions ?? { ...SHIPPED_VERSIONS, ...settings.models.champion }
    const most = await sampledHashes(tables)
    const [scores, features] = await Promise.all([readScoreCounts(tables, most, versions), readFeatureCounts(tables, most)])
    const drift = features.map(({ feature, before, now: recent }) => ({ feature, psi: stabilityIndex(before, recent) }))
    return {
      models: MODELS.map((name) => ({
        name,
        version: versions[name],
        ...curvesOf(scores.filter(({ model }) => model === name)),
        drift,
      })),
    }
  }

  /**
   * Refuses a challenger that this process could not load. Its trial has shown nothing about its scores, and as the
   * champion, it would not score either.
   */
  function assertUsable(): void {
    const refused = models.active?.refusedChallenger
    // The refusal may concern an earlier challenger, because this process may not have tried the current one yet.
    if (refused === undefined || MODELS.some((name) => refused.versions[name] !== settings.models.challenger?.[name])) return
    throw new ApiError(fraudErrors.challenger_refused, { message: `The models of the challenger cannot be used: ${refused.reason}` })
  }

  return {
    routes: [
      bind(modelsRoute, async () => {
        const { available } = await models.folders()
        return jsonAnswer(
          200,
          {
            ...assignmentJson(settings.assignedModels, now()),
            scoring: models.active?.versions ?? null,
            available: available.map(({ manifest, isShipped }) => ({
              name: manifest.name,
              version: manifest.version,
              sha256: manifest.sha256,
              trained_on: manifest.trained_on,
              shipped: isShipped,
            })),
          },
          PRIVATE,
        )
      }),
      bind(modelReportRoute, async () => jsonAnswer(200, await report(), PRIVATE)),
      bind(challengerRoute, async (input) => {
        const { versions } = input.body
        const changed =
          versions === null
            ? await assignments.endChallenger(input)
            : await assignments.setChallenger(
                input,
                async () => ({ versions: { ...settings.models.champion, ...versions }, policy: await policyFor(versions) }),
                versions,
              )
        return jsonAnswer(200, assignmentJson(changed, now()), PRIVATE)
      }),
      bind(promoteRoute, async (input) => {
        const changed = await assignments.promote(input, { force: input.body.force === true, check: assertUsable })
        return jsonAnswer(200, assignmentJson(changed, now()), PRIVATE)
      }),
      bind(rollBackModelsRoute, async (input) => jsonAnswer(200, assignmentJson(await assignments.rollBack(input), now()), PRIVATE)),
    ],
  }
}
