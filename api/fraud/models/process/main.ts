/**
 * Main module of the model process. The models have their own process, because the ONNX runtime blocks its thread while
 * it computes, and may crash.
 */

import { serveParent } from '../../../kit/child/serve.ts'
import { decodeScoreRequest, encodeScores, KIND, type LoadAnswer, type LoadRequest, type UnloadRequest } from '../wire.ts'
import { challengerFailures } from './challenger-failures.ts'
import { type LoadedModel, loadModel } from './model.ts'
import { scoreBatch } from './scoring.ts'

const models = new Map<number, LoadedModel>()
/** The batches that are being scored. */
const scoring = new Set<Promise<unknown>>()
const NOTHING = Buffer.alloc(0)
const challengerFailed = challengerFailures((line) => void process.stderr.write(`${line}\n`))

async function load({ number, manifestPath, sha256, slowestMs }: LoadRequest): Promise<LoadAnswer> {
  try {
    models.set(number, await loadModel(manifestPath, sha256, slowestMs))
    return {}
  } catch (error) {
    return { refused: (error as Error).message }
  }
}

async function score(body: Buffer): Promise<Buffer> {
  const request = decodeScoreRequest(body)
  const scores = scoreBatch(models, request, (error) => challengerFailed(request.challenger!, error))
  scoring.add(scores)
  try {
    return encodeScores(await scores)
  } finally {
    scoring.delete(scores)
  }
}

/** Frees the memory of models once no running batch uses them. */
async function unload({ numbers }: UnloadRequest): Promise<void> {
  await Promise.allSettled(scoring)
  const unused = numbers.flatMap((number) => models.get(number) ?? [])
  for (const number of numbers) models.delete(number)
  for (const model of unused) await model.release()
}

serveParent(async function answer(kind, body) {
  if (kind === KIND.score) return await score(body)
  if (kind === KIND.unload) await unload(JSON.parse(body.toString()))
  if (kind === KIND.load) return Buffer.from(JSON.stringify(await load(JSON.parse(body.toString()))))
  return NOTHING
})
