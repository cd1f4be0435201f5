/**
 * `npm run test:simulation`: runs the worlds of many seeds and prints each wrong output with its seed. At the end it
 * prints a hash of all events, which is the same on every machine that runs the same seeds with the same code.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { type Plan, planOf } from './plan.ts'
import declaration from './run.command.ts'
import { shrink } from './shrink.ts'
import { runPlan } from './world.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000
/** How many runs there are between two progress messages. */
const PROGRESS_EVERY = 1_000
const DEFAULT_SEEDS = 1_000

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function readPlan(file: string): Plan {
  if (!existsSync(file)) throw new Error(`${file} does not exist. --plan needs a file that contains a plan printed by --shrink`)
  return JSON.parse(readFileSync(file, 'utf8')) as Plan
}

function* plansOf(options: ReturnType<typeof parsed>): Generator<Plan> {
  const { plan: file, seeds, from, topology } = options
  if (file === undefined) for (let i = 0; i < (seeds ?? DEFAULT_SEEDS); i++) yield planOf(from + i, topology)
  else {
    const plan = readPlan(file)
    for (let i = 0; i < (seeds ?? 1); i++) yield { ...plan, seed: plan.seed + i }
  }
}

const parsed = () => commandLine(declaration)

async function main(): Promise<number> {
  const options = parsed()
  const { minutes, trace, shrink: shrinks, 'until-wrong': untilWrong } = options
  // Errors are normal in a simulation, so their stack traces are printed only with --trace.
  if (!trace) Error.stackTraceLimit = 0
  const startedAt = performance.now()
  const hash = createHash('sha256')
  let runs = 0
  let events = 0
  let wrong = 0
  for (const plan of plansOf(options)) {
    if (minutes !== undefined && performance.now() - startedAt > minutes * MINUTE_MS) break
    const outcome = await runPlan(plan, trace ? (line) => process.stdout.write(line) : undefined)
    hash.update(outcome.digest)
    runs++
    events += outcome.events
    if (runs % PROGRESS_EVERY === 0) say(`${runs} runs, up to seed ${plan.seed}, ${wrong} wrong`)
    if (outcome.faults.length === 0) continue
    wrong++
    say(`seed ${plan.seed}, after ${(outcome.lasted / SECOND_MS).toFixed(1)} simulated seconds:\n  ${outcome.faults.join('\n  ')}`)
    if (shrinks) await showShrunk(plan)
    if (untilWrong) break
  }
  const seconds = (performance.now() - startedAt) / SECOND_MS
  say(`${runs} runs, ${events} events, ${wrong} wrong, in ${seconds.toFixed(0)} s`)
  say(`hash of all events: ${hash.digest('hex')}`)
  return wrong === 0 ? 0 : 1
}

async function showShrunk(plan: Plan): Promise<void> {
  const shrunk = await shrink(plan)
  if (shrunk === undefined) return
  const { faults, records, workers } = shrunk.plan
  say(`reduced in ${shrunk.runs} runs to ${faults.length} faults, ${workers.length} workers and ${records.length} records:`)
  say(`  ${shrunk.faults.join('\n  ')}\n${JSON.stringify(shrunk.plan)}`)
}

await runMain(main)
