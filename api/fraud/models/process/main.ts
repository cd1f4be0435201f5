/**
 * Main module of the model process. The models have their own process, because the ONNX runtime blocks its thread while
 * it computes, and may crash.
 */

import { serveParent } from '../../../kit/child/serve.ts'
import { decodeScoreRequest, encodeScores, KIND, type LoadAnswer, type LoadRequest } from '../wire.ts'
import { type LoadedModel, loadModel } from './model.ts'
import { scoreBatch } from './scoring.ts'

const models = new Map<number, LoadedModel>()
const NOTHING = Buffer.alloc(0)

async function load({ number, manifestPath, sha256 }: LoadRequest): Promise<LoadAnswer> {
  try {
    models.set(number, await loadModel(manifestPath, sha256))
    return {}
  } catch (error) {
    return { refused: (error as Error).message }
  }
}

serveParent(async function answer(kind, body) {
  if (kind === KIND.score) return encodeScores(await scoreBatch(models, decodeScoreRequest(body)))
  if (kind === KIND.load) return Buffer.from(JSON.stringify(await load(JSON.parse(body.toString()))))
  return NOTHING
})
