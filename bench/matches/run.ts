/**
 * `npm run bench:matches`: measures the parts of the match feed one by one, and compares them with peers in the same
 * run. See run.command.ts.
 */
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { inFolder, withStarted } from '../harness/folder.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { appendResults } from '../harness/table.ts'
import type { PartInput } from './part.ts'
import type { PartName } from './part-names.ts'
import { measureBuilds } from './parts/build.ts'
import { measureFeeds } from './parts/feed.ts'
import { measureHotTarget } from './parts/hot.ts'
import { measureMemory } from './parts/memory.ts'
import { measurePushes } from './parts/notify.ts'
import { measurePairs } from './parts/pairs.ts'
import { measureSeen } from './parts/seen.ts'
import { measureSwipes } from './parts/swipe.ts'
import { type Pushes, pushRecords, pushWebhook } from './pushes.ts'
import declaration from './run.command.ts'
import { startMatchesSystem } from './system.ts'

const values = commandLine(declaration)
const lines: string[] = []

/** Prints a line and saves it for bench/results.md. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
  lines.push(line)
}

const measures: Readonly<Record<Exclude<PartName, 'pairs'>, (input: PartInput, pushes: Pushes) => Promise<void>>> = {
  memory: measureMemory,
  swipe: measureSwipes,
  feed: measureFeeds,
  build: measureBuilds,
  notify: measurePushes,
  hot: measureHotTarget,
  seen: measureSeen,
}

async function measureOnSystem(): Promise<void> {
  // The part `memory` comes first, because the other parts add swipes to the users.
  const parts = (Object.keys(measures) as (keyof typeof measures)[]).filter((part) => values.part.includes(part))
  if (parts.length === 0) return
  const pushes = values.to === 'webhook' ? await pushWebhook() : pushRecords()
  const { profiles, prof } = values
  const start = (folder: string) => startMatchesSystem(folder, { profiles, prof, workerEnv: pushes.workerEnv })
  try {
    await withStarted(start, async (system, folder) => {
      say(`${system.origin}; an API, a deciding worker, a bulk worker, all servers and the load generator share these cores`)
      for (const part of parts) await measures[part]({ system, values, folder, say }, pushes)
    })
  } finally {
    await pushes.close()
  }
}

async function main(): Promise<void> {
  say(describeMachine())
  await measureOnSystem()
  if (values.part.includes('pairs')) await inFolder((folder) => measurePairs({ values, folder, say }))
  appendResults('Match feed (`npm run bench:matches`)', values.note, lines)
}

await runMain(main)
