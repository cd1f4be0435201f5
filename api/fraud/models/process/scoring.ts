import { MODELS, type ModelName, type ModelScores } from '../../../../schemas/fraud/decision/policy.ts'
import { INPUT_FIELDS } from '../../../../schemas/fraud/models/inputs.ts'
import type { FraudRiskFactor } from '../../../../schemas/fraud/types.ts'
import type { ModelNumbers, RowScores, ScoreRequest } from '../wire.ts'
import { explain, MOST_FACTORS } from './explain.ts'
import type { LoadedModel } from './model.ts'

/** Minimum score that is explained. If the model's threshold for MEDIUM is lower, that threshold applies instead. */
const EXPLAINED_FROM = 0.3
/**
 * Maximum number of rows that are explained per batch. An explanation takes as long as scoring a hundred rows, so many
 * explanations during a wave of fraud would delay the scores.
 */
const MOST_EXPLAINED = 4

/**
 * Scores a batch with the models whose numbers the request contains.
 * @param onChallengerFailure called if the challenger fails. The champion's scores do not depend on the challenger.
 */
export async function scoreBatch(
  models: ReadonlyMap<number, LoadedModel>,
  request: ScoreRequest,
  onChallengerFailure: (error: Error) => void,
): Promise<RowScores[]> {
  const { champion, challenger, isChallengers, rows } = request
  const count = isChallengers.length
  const width = INPUT_FIELDS.length
  const own = await columnsOf(models, champion, rows, count)
  const picked = [...isChallengers.keys()].filter((row) => challenger !== undefined && isChallengers[row])
  const other = new Float32Array(picked.length * width)
  for (const [index, row] of picked.entries()) other.set(rows.subarray(row * width, (row + 1) * width), index * width)
  const others = picked.length === 0 ? undefined : await columnsOf(models, challenger!, other, picked.length).catch(onChallengerFailure)
  const placeOf = new Map(picked.map((row, index) => [row, index]))
  const explained = explainedRows(models, champion, own, count)
  const results: RowScores[] = []
  for (let row = 0; row < count; row++) {
    const place = placeOf.get(row)
    results.push({
      champion: scoresAt(own, row),
      challenger: place === undefined || !others ? undefined : scoresAt(others, place),
      factors: explained.has(row) ? await factorsOf(models, champion, rows.subarray(row * width, (row + 1) * width), own, row) : [],
    })
  }
  return results
}

async function columnsOf(models: ReadonlyMap<number, LoadedModel>, numbers: ModelNumbers, rows: Float32Array, count: number) {
  const columns: Float32Array[] = []
  for (const number of numbers) columns.push(await modelOf(models, number).score(rows, count))
  return columns
}

/**
 * Returns the rows to explain. These are the rows with the highest scores, among the rows in which the score of at
 * least one model reaches the threshold of the model.
 */
function explainedRows(models: ReadonlyMap<number, LoadedModel>, champion: ModelNumbers, columns: readonly Float32Array[], count: number) {
  const above: { readonly row: number; readonly score: number }[] = []
  for (let row = 0; row < count; row++) {
    const score = Math.max(...columns.map((column) => column[row]))
    if (champion.some((number, index) => columns[index][row] >= explainedFrom(modelOf(models, number)))) above.push({ row, score })
  }
  above.sort((one, other) => other.score - one.score)
  return new Set(above.slice(0, MOST_EXPLAINED).map(({ row }) => row))
}

function explainedFrom({ manifest }: LoadedModel): number {
  return Math.min(EXPLAINED_FROM, manifest.alone.medium ?? EXPLAINED_FROM)
}

/**
 * Explains the high scores of one transaction. If an input contributes to the scores of several models, the highest
 * contribution is reported.
 */
async function factorsOf(
  models: ReadonlyMap<number, LoadedModel>,
  champion: ModelNumbers,
  inputs: Float32Array,
  columns: readonly Float32Array[],
  row: number,
): Promise<FraudRiskFactor[]> {
  const strongest = new Map<string, number>()
  for (const [index, number] of champion.entries()) {
    const model = modelOf(models, number)
    if (columns[index][row] < explainedFrom(model)) continue
    for (const { factor, contribution } of await explain(model, inputs)) {
      strongest.set(factor, Math.max(contribution, strongest.get(factor) ?? 0))
    }
  }
  const factors = Array.from(strongest, ([factor, contribution]) => ({ factor, contribution }))
  return factors.sort((one, other) => other.contribution - one.contribution).slice(0, MOST_FACTORS)
}

function scoresAt(columns: readonly Float32Array[], row: number): ModelScores {
  return Object.fromEntries(MODELS.map((model, index) => [model, columns[index][row]])) as Record<ModelName, number>
}

function modelOf(models: ReadonlyMap<number, LoadedModel>, number: number): LoadedModel {
  const model = models.get(number)
  if (model === undefined) throw new Error(`model ${number} was not loaded`)
  return model
}
