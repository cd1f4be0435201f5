import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DEFAULT_POLICY, MODELS, type ModelName, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import { INPUT_FIELDS } from '../../../schemas/fraud/models/inputs.ts'
import type { ModelManifest } from '../../../schemas/fraud/models/manifest.ts'
import type { ValuesOf } from '../../../scripts/command-line/command.ts'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { toolsFolder } from '../../config.ts'
import { matrixFile } from '../matrix.ts'
import { FRAUD_SHARE, judge, type RuledPayment, ruledTraffic, type TrafficReport } from '../patterns/judge.ts'
import { PATTERNS } from '../patterns/payment.ts'
import { generateTraffic } from '../patterns/traffic.ts'
import { runPython } from '../python/run.ts'
import { type Alone, calibrate } from './calibrate.ts'
import { loadModels, scoreAll } from './score.ts'
import { isUsed, TARGETS } from './targets.ts'
import declaration from './train.command.ts'

/** `npm run fraud:train`: see train.command.ts. */

type Options = ValuesOf<typeof declaration>

/** What the Python program reports about a trained model. */
interface Trained {
  readonly name: ModelName
  readonly auc: number
  readonly average_precision: number
  readonly vectors: ModelManifest['golden']['vectors']
  readonly scores: number[]
  readonly typical: ModelManifest['typical']
}

interface JudgedTraffic extends TrafficReport {
  /** Share of the payments that are frauds. */
  readonly fraudShare: number
}

const SHIPPED = fileURLToPath(new URL('../../../schemas/fraud/models/shipped/', import.meta.url))
const INPUT = 'inputs'
const OUTPUT = 'probabilities'
/**
 * Tolerance when scores of two runtimes are compared, because runtimes add up the trees' values in different orders.
 */
const TOLERANCE = 1e-5
/** Labels in the format that the Python program reads. `leftOut` marks frauds that other models are meant to find. */
const LABELS = { normal: 0, fraud: 1, leftOut: 2 }

const features = INPUT_FIELDS.filter(({ name }) => isUsed(name))
const print = (line: string) => process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const options = commandLine(declaration)
  const out = options.out ?? SHIPPED
  const folder = await mkdtemp(join(tmpdir(), 'millrace-train-'))
  try {
    const made = join(folder, 'models')
    await mkdir(made)
    const trained = await train(options, made, folder)
    const unfit = Object.fromEntries(MODELS.map((name) => [name, {}])) as unknown as Alone
    await writeManifests(options, made, trained, unfit)
    const models = await loadModels((name) => manifestPath(made, name, options.version))

    const calibration = ruledPayments(options, options.seed + 1)
    const calibrationScores = await scoreAll(
      models,
      calibration.map(({ input }) => input),
    )
    const alone = calibrate(calibration, calibrationScores, DEFAULT_POLICY)
    await writeManifests(options, made, trained, alone)
    await putInPlace(made, out)
    const versions = Object.fromEntries(MODELS.map((name) => [name, options.version]))
    if (out === SHIPPED) await writeFile(join(out, 'default.json'), `${JSON.stringify({ versions, alone }, null, 2)}\n`)

    const policy: Policy = { ...DEFAULT_POLICY, alone }
    const unseen = await judged(options)
    const rare = Math.max(1, Math.round((options.occurrences * FRAUD_SHARE) / unseen.fraudShare))
    const realistic = await judged({ ...options, occurrences: rare })
    for (const { name, auc, average_precision } of trained) {
      print(`${name}: AUC ${auc.toFixed(4)}, average precision ${average_precision.toFixed(4)} on its training data`)
    }
    print(`thresholds: ${JSON.stringify(alone)}`)
    print(`rules and models on the unseen seed ${options.seed + 2}:`)
    printReport(unseen)
    print('the same, with as few frauds as in real traffic:')
    printReport(realistic)

    async function judged(given: Options): Promise<JudgedTraffic> {
      const ruled = ruledPayments(given, options.seed + 2)
      const inputs = ruled.map(({ input }) => input)
      const frauds = ruled.filter(({ payment }) => payment.pattern !== undefined).length
      return { ...judge(ruled, await scoreAll(models, inputs), policy), fraudShare: frauds / ruled.length }
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * Copies complete models into a folder that an API may read at the same time. A training run that fails or is killed
 * must neither damage the models in this folder, nor add models without thresholds.
 */
async function putInPlace(from: string, out: string): Promise<void> {
  await mkdir(out, { recursive: true })
  // Each manifest is replaced after its model. An API that reads the new model with the old manifest refuses the model,
  // because the two do not match.
  const names = (await readdir(from)).sort((one, other) => Number(one.endsWith('.json')) - Number(other.endsWith('.json')))
  const part = (name: string) => join(out, `.${name}.part`)
  for (const name of names) await copyFile(join(from, name), part(name))
  for (const name of names) await rename(part(name), join(out, name))
}

function ruledPayments({ people, days, occurrences }: Options, seed: number): RuledPayment[] {
  return [...ruledTraffic(generateTraffic({ seed, people, days, occurrences }))]
}

async function train(options: Options, out: string, folder: string): Promise<Trained[]> {
  const rows = matrixFile(join(folder, 'rows'))
  const patterns = ruledPayments(options, options.seed).map(({ payment, input }) => {
    rows.add(input)
    return payment.pattern
  })
  rows.close()
  const frauds = patterns.filter((pattern) => pattern !== undefined).length
  const weightOfFraud = (FRAUD_SHARE / (1 - FRAUD_SHARE)) * ((patterns.length - frauds) / frauds)
  const weights = Float32Array.from(patterns, (pattern) => (pattern === undefined ? 1 : weightOfFraud))
  await writeFile(join(folder, 'weights'), weights)
  const models = []
  for (const name of MODELS) {
    const labels = Uint8Array.from(patterns, (pattern) => {
      if (pattern === undefined) return LABELS.normal
      return TARGETS[name].includes(pattern) ? LABELS.fraud : LABELS.leftOut
    })
    await writeFile(join(folder, name), labels)
    const onnx = join(out, fileOf(name, options.version))
    models.push({ name, labels: join(folder, name), onnx, columns: features.map(({ slot }) => slot) })
  }
  const result = join(folder, 'result')
  const job = { rows: rows.path, width: rows.width, weights: join(folder, 'weights'), models, result }
  await runPython({ program: 'train', job, folder, tools: toolsFolder() })
  return JSON.parse(await readFile(result, 'utf8'))
}

async function writeManifests(options: Options, out: string, trained: readonly Trained[], alone: Alone): Promise<void> {
  const { people, days, occurrences, seed, version } = options
  for (const { name, vectors, scores, typical } of trained) {
    const bytes = await readFile(join(out, fileOf(name, version)))
    const manifest: ModelManifest = {
      name,
      version,
      file: fileOf(name, version),
      sha256: createHash('sha256').update(bytes).digest('hex'),
      input: INPUT,
      output: OUTPUT,
      trained_on: `generated payments: seed ${seed}, ${people} people, ${days} days, each pattern ${occurrences} times`,
      alone: alone[name],
      features: features.map((field) => field.name),
      typical,
      golden: { tolerance: TOLERANCE, scores, vectors },
    }
    await writeFile(manifestPath(out, name, version), `${JSON.stringify(manifest)}\n`)
  }
}

function fileOf(name: ModelName, version: string): string {
  return `${name}-${version}.onnx`
}

function manifestPath(out: string, name: ModelName, version: string): string {
  return join(out, `${name}-${version}.json`)
}

function printReport({ fraudShare, blocked, falsePositives, falsePositivesWithoutVictims, patterns }: JudgedTraffic): void {
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  print(`${percent(fraudShare)} frauds; ${percent(blocked)} would be blocked if ${percent(FRAUD_SHARE)} were frauds`)
  print(`${percent(falsePositives)} false positives among all normal payments`)
  print(`${percent(falsePositivesWithoutVictims)} without the payments of victims of unconfirmed frauds`)
  print('pattern | occurrences found | payments found')
  for (const pattern of PATTERNS) {
    print(`${pattern} | ${percent(patterns[pattern].occurrences)} | ${percent(patterns[pattern].payments)}`)
  }
}

await runMain(main)
