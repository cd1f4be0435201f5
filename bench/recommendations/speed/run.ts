/**
 * `npm run bench:recommendations`: measures the parts of recommendations one by one, and compares them with peers. See
 * run.command.ts.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { inFolder, whileStarted } from '../../harness/folder.ts'
import { describeMachine } from '../../harness/process-stats.ts'
import { appendResults } from '../../harness/table.ts'
import { loadRemark } from '../../matches/rounds.ts'
import { measureBacklog } from './backlog.ts'
import { trainVectors } from './bundle.ts'
import { measureLists } from './list.ts'
import { measureMemory } from './memory.ts'
import type { PartInput } from './part.ts'
import type { PartName } from './part-names.ts'
import { measureRecall } from './recall.ts'
import declaration from './run.command.ts'
import { measureServing } from './serve.ts'
import { measureStart } from './start.ts'
import { type RecommendationsSystem, startSystem } from './system.ts'
import { measureTraining } from './training.ts'
import { makeWorld } from './world.ts'

const values = commandLine(declaration)
const lines: string[] = []

/** Prints a line and saves it for bench/results.md. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
  lines.push(line)
}

const alone: Readonly<Partial<Record<PartName, (input: PartInput) => Promise<void>>>> = {
  recall: measureRecall,
  list: measureLists,
}
/** The parts that share one set of servers. */
const onSystem: Readonly<Partial<Record<PartName, (input: PartInput, system: RecommendationsSystem) => Promise<void>>>> = {
  serve: measureServing,
  memory: measureMemory,
  training: measureTraining,
}

async function measureIn(folder: string): Promise<void> {
  const world = makeWorld(values.items, values.users)
  if (values.part.includes('backlog')) await measureBacklog({ world, values, folder, say })
  if (values.part.includes('start')) await measureStart({ world, values, folder, say })
  if (values.part.every((part) => part === 'backlog' || part === 'start')) return
  const { folder: bundle, seconds } = await trainVectors(join(folder, `bundle-${values.items}-${values.users}`), world)
  if (seconds !== undefined)
    say(`Training and grouping the vectors of ${values.items} items took ${seconds.toFixed(0)} s. Training used all cores.`)
  const input: PartInput = { world, bundle, values, folder, say }
  for (const part of values.part) await alone[part]?.(input)
  const parts = values.part.flatMap((part) => onSystem[part] ?? [])
  if (parts.length === 0) return
  await whileStarted(
    () => startSystem(input),
    async (system) => {
      for (const measure of parts) await measure(input, system)
    },
  )
}

await runMain(async () => {
  say(`${describeMachine()}; ${loadRemark()}`)
  if (values.folder === undefined) await inFolder(measureIn)
  else {
    const folder = resolve(values.folder)
    mkdirSync(folder, { recursive: true })
    await measureIn(folder)
  }
  appendResults('Recommendations (`npm run bench:recommendations`)', values.note, lines)
})
