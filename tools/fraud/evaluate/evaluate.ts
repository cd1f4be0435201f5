import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { DATA_SETS } from '../../../scripts/data-sets.ts'
import { toolsFolder } from '../../config.ts'
import { matrixFile } from '../matrix.ts'
import { runPython } from '../python/run.ts'
import declaration from './evaluate.command.ts'
import { merged } from './merge.ts'
import { type LabelledPayment, readPayments } from './payments.ts'
import { PART, type Periods, replayPayments } from './replay.ts'

/** `npm run fraud:evaluate`: see evaluate.command.ts. */

interface Result {
  readonly recall: number
  readonly auc: number
  readonly average_precision: number
  readonly scenarios: readonly { readonly scenario: number; readonly frauds: number; readonly recall: number }[]
}

interface Results {
  readonly inputs: number
  readonly trees: Result
  readonly regression: Result
}

const FALSE_POSITIVES = 0.01
const DAY_MS = 86_400_000

const print = (line: string) => process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const options = commandLine(declaration)
  for (const file of [options.train, options.test]) {
    if (!existsSync(file)) throw new Error(`${file} is missing. The command was made for ${DATA_SETS.payments.origin}`)
  }
  const isOne = resolve(options.train) === resolve(options.test)
  const payments = isOne ? readPayments(options.train) : merged(readPayments(options.train), readPayments(options.test))
  const testFrom = timeOf(options['test-from']) ?? (await firstTime(readPayments(options.test)))
  const periods: Periods = {
    trainFrom: timeOf(options['train-from']) ?? Number.NEGATIVE_INFINITY,
    trainTo: timeOf(options['train-to']) ?? testFrom,
    testFrom,
    testTo: timeOf(options['test-to']) ?? Number.POSITIVE_INFINITY,
    labelDelayMs: options['label-delay'],
  }
  const folder = await mkdtemp(join(tmpdir(), 'millrace-evaluate-'))
  try {
    printResults(await evaluate(payments, periods, folder))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function evaluate(payments: AsyncIterable<LabelledPayment>, periods: Periods, folder: string): Promise<Results> {
  const path = (name: string) => join(folder, name)
  const matrix = matrixFile(path('rows'))
  const { parts, scenarios } = await replayPayments(payments, periods, matrix)
  matrix.close()
  const days = periods.labelDelayMs / DAY_MS
  for (const [name, part] of [
    ['training', PART.train],
    ['test', PART.test],
  ] as const) {
    const own = [...parts.keys()].filter((row) => parts[row] === part)
    const frauds = own.filter((row) => scenarios[row] > 0).length
    if (frauds === 0 || frauds === own.length)
      throw new Error(`the ${name} period has no fraudulent or no legitimate payments: choose other days`)
    print(`${name}: ${own.length} payments, ${frauds} frauds; labels become known after ${days} days`)
  }
  await writeFile(path('parts'), parts)
  await writeFile(path('scenarios'), scenarios)
  const job = {
    rows: matrix.path,
    width: matrix.width,
    parts: path('parts'),
    scenarios: path('scenarios'),
    result: path('result'),
    false_positives: FALSE_POSITIVES,
  }
  await runPython({ program: 'evaluate', job, folder, tools: toolsFolder() })
  return JSON.parse(await readFile(job.result, 'utf8'))
}

function printResults({ inputs, trees, regression }: Results): void {
  const share = (value: number) => value.toFixed(3)
  print(`${inputs} inputs`)
  print(`| | model | logistic regression |`)
  print('|---|--:|--:|')
  print(`| recall at ${FALSE_POSITIVES * 100} % false positives | ${share(trees.recall)} | ${share(regression.recall)} |`)
  print(`| AUC | ${share(trees.auc)} | ${share(regression.auc)} |`)
  print(`| average precision | ${share(trees.average_precision)} | ${share(regression.average_precision)} |`)
  for (const [index, { scenario, frauds, recall }] of trees.scenarios.entries()) {
    print(`| recall of scenario ${scenario} (${frauds} frauds) | ${share(recall)} | ${share(regression.scenarios[index].recall)} |`)
  }
}

async function firstTime(payments: AsyncIterable<LabelledPayment>): Promise<number> {
  for await (const { request } of payments) return request.timestamp
  throw new Error('the test file has no payments')
}

/** Returns the start of a day in UTC, epoch ms. */
function timeOf(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(day)
}

await runMain(main)
