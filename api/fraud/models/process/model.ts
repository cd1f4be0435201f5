import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { INPUT_FIELDS, inputField } from '../../../../schemas/fraud/models/inputs.ts'
import { type ModelManifest, parseManifest } from '../../../../schemas/fraud/models/manifest.ts'

/** A loaded model that has reproduced its test vectors. */
export interface LoadedModel {
  readonly manifest: ModelManifest
  /** Positions of the model's inputs in a row of all inputs. */
  readonly slots: readonly number[]
  /**
   * Scores rows of transactions.
   * @param rows one row per transaction, with all inputs, or only the model's own inputs if `isOwn`
   * @returns one probability per row
   */
  score(rows: Float32Array, count: number, isOwn?: boolean): Promise<Float32Array>
  /** Frees the model's memory. No call of `score` may be running, and none may follow. */
  release(): Promise<void>
}

/** Error for a model that must not be used. Its message says why. */
class ModelRefused extends Error {
  override readonly name = 'ModelRefused'
}

/**
 * Without this variable, the runtime keeps a file that identifies the machine, and sends data about models and runs to
 * its vendor. The variable is set here, because training runs and benchmarks also load models, in processes of their
 * own. The runtime reads it when the first session is created.
 */
// biome-ignore lint/style/noProcessEnv: the runtime has no other switch that also prevents the file
process.env.ORT_DISABLE_TELEMETRY = '1'

/** The runtime uses one thread, because batches are small and the runtime has crashed with several threads. */
const SESSION: InferenceSession.SessionOptions = {
  executionProviders: ['cpu'],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  graphOptimizationLevel: 'all',
  logSeverityLevel: 3,
}

/** Batch sizes that the model scores before it is used, because the first runs of each size are slow. */
const WARM_SIZES = [1, 2, 8, 32, 128, 512]
const WARM_ROUNDS = 20
/**
 * Number of rows that a challenger scores, on average, in the largest batch: 5 % of 512, rounded up to one of
 * `WARM_SIZES`.
 */
const CHALLENGERS_ROWS = 32

/**
 * Loads a model and checks that it reproduces its test vectors.
 * @param sha256 expected hash of the ONNX file; default: the hash in the manifest
 * @param slowestMs the model is refused if, for a batch size up to `CHALLENGERS_ROWS`, even its fastest round takes
 * longer than this
 * @throws ModelRefused; Error if the manifest cannot be used or a file cannot be read
 */
export async function loadModel(manifestPath: string, sha256?: string, slowestMs = Number.POSITIVE_INFINITY): Promise<LoadedModel> {
  const manifest = parseManifest(await readFile(manifestPath, 'utf8'))
  const bytes = await readFile(join(dirname(manifestPath), manifest.file))
  const hash = createHash('sha256').update(bytes).digest('hex')
  const wanted = [sha256 ?? hash, manifest.sha256].find((one) => one !== hash)
  if (wanted !== undefined) {
    throw new ModelRefused(`the file ${manifest.file} was changed or is damaged: its SHA-256 is ${hash} instead of ${wanted}`)
  }
  const session = await InferenceSession.create(bytes, SESSION).catch((error: Error) => {
    throw new ModelRefused(`the runtime does not accept ${manifest.file}: ${error.message}`)
  })
  const slots = manifest.features.map((name) => inputField(name)!.slot)
  const model: LoadedModel = { manifest, slots, score, release: () => session.release() }
  try {
    await repeatVectors(model)
    await warm(model, slowestMs)
    return model
  } catch (error) {
    await model.release()
    throw error
  }

  async function score(rows: Float32Array, count: number, isOwn = false): Promise<Float32Array> {
    const own = isOwn ? rows : pickColumns(rows, count, slots)
    const { [manifest.output]: output } = await session.run({ [manifest.input]: new Tensor('float32', own, [count, slots.length]) }, [
      manifest.output,
    ])
    const columns = output.dims.length === 1 ? 1 : output.dims[1]
    const values = output.data as Float32Array
    if (values.length !== count * columns) throw new Error(`the output of ${manifest.file} has ${values.length} values for ${count} rows`)
    return columns === 1 ? values : Float32Array.from({ length: count }, (_, row) => values[row * columns + columns - 1])
  }
}

async function repeatVectors({ manifest, score }: LoadedModel): Promise<void> {
  const { vectors, scores, tolerance } = manifest.golden
  const rows = Float32Array.from(vectors.flat(), (value) => value ?? Number.NaN)
  const found = await score(rows, vectors.length, true).catch((error: Error) => {
    throw new ModelRefused(`${manifest.file} cannot score its test vectors: ${error.message}`)
  })
  for (const [index, expected] of scores.entries()) {
    if (!(Math.abs(found[index] - expected) <= tolerance)) {
      throw new ModelRefused(`${manifest.file} gives ${found[index]} instead of ${expected} for its test vector ${index}`)
    }
  }
}

async function warm({ manifest, score }: LoadedModel, slowestMs: number): Promise<void> {
  for (const count of WARM_SIZES) {
    const rows = new Float32Array(count * INPUT_FIELDS.length).fill(Number.NaN)
    // The shortest of several rounds hardly depends on how busy the machine is.
    let shortestMs = Number.POSITIVE_INFINITY
    for (let round = 0; round < WARM_ROUNDS; round++) {
      const start = performance.now()
      await score(rows, count)
      shortestMs = Math.min(shortestMs, performance.now() - start)
    }
    if (count <= CHALLENGERS_ROWS && shortestMs > slowestMs) {
      throw new ModelRefused(
        `${manifest.file} takes at least ${shortestMs.toFixed(1)} ms for ${count} rows instead of at most ${slowestMs}`,
      )
    }
  }
}

function pickColumns(rows: Float32Array, count: number, slots: readonly number[]): Float32Array {
  const own = new Float32Array(count * slots.length)
  let to = 0
  for (let row = 0; row < count; row++) {
    const from = row * INPUT_FIELDS.length
    for (const slot of slots) own[to++] = rows[from + slot]
  }
  return own
}
