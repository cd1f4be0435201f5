import { type LoadedModel, loadModel } from '../../../api/fraud/models/process/model.ts'
import { MODELS, type ModelName, type ModelScores } from '../../../schemas/fraud/decision/policy.ts'
import { INPUT_FIELDS, type ModelInput, writeInputs } from '../../../schemas/fraud/models/inputs.ts'

const BATCH = 1_024

export type ThreeModels = Readonly<Record<ModelName, LoadedModel>>

/**
 * Loads the three models.
 * @param pathOf returns the path of a model's manifest
 */
export async function loadModels(pathOf: (name: ModelName) => string): Promise<ThreeModels> {
  const entries = await Promise.all(MODELS.map(async (name) => [name, await loadModel(pathOf(name))] as const))
  return Object.fromEntries(entries) as unknown as ThreeModels
}

/** Scores many transactions in this process, without a time limit. */
export async function scoreAll(models: ThreeModels, inputs: readonly ModelInput[]): Promise<ModelScores[]> {
  const scores: ModelScores[] = []
  const rows = new Float32Array(BATCH * INPUT_FIELDS.length)
  for (let from = 0; from < inputs.length; from += BATCH) {
    const batch = inputs.slice(from, from + BATCH)
    for (const [index, input] of batch.entries()) writeInputs(input, rows, index * INPUT_FIELDS.length)
    const columns = {} as Record<ModelName, Float32Array>
    for (const name of MODELS) columns[name] = await models[name].score(rows, batch.length)
    for (const index of batch.keys()) {
      scores.push({
        account_takeover: columns.account_takeover[index],
        payment_fraud: columns.payment_fraud[index],
        money_laundering: columns.money_laundering[index],
      })
    }
  }
  return scores
}
