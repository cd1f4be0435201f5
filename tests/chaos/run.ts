/**
 * `npm run test:chaos`: runs random schedules of faults, one after another, or the chaos tests of a service (SERVICES).
 * See run.command.ts. Exits with code 1 if a run failed, for example because its output differed from the output that
 * was computed offline from the input.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Component } from '../../deploy/local/component.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { guardedFolder } from '../stack/folder.ts'
import { newKafkaCluster } from '../stack/kafka-cluster.ts'
import { chaosConfig, chaosHome } from './config.ts'
import declaration from './run.command.ts'
import { described, drawSchedule, type Schedule } from './schedule.ts'
import { runTrial } from './trial.ts'
import { VOLUME_BROKERS, VOLUME_SETTINGS } from './volume.ts'

/** The test files of each service. */
const SERVICES = {
  trends: ['kills'],
  links: ['alias', 'clicks'],
  snippets: ['burns'],
  limits: ['limits'],
  matches: ['matches'],
  fraud: ['fraud'],
  search: ['search'],
  inventory: ['inventory'],
  recommendations: ['recommendations'],
  elections: ['elections'],
} as const
const MS_PER_SECOND = 1_000
const MAX_SEED = 2 ** 31
const VERIFY = join(import.meta.dirname, '../../scripts/verify.ts')
/**
 * Maximum number of runs on the same broker. Each run leaves about eighty partitions, so after a hundred runs, a
 * restart of the broker would take minutes.
 */
const SEEDS_PER_BROKER = 10

function options() {
  const values = commandLine(declaration)
  const first = values.seed ?? values.from ?? Math.floor(Math.random() * MAX_SEED)
  const longestPause = values['longest-pause']
  return {
    tests: Object.entries(SERVICES).flatMap(([service, tests]) => (values[service as keyof typeof SERVICES] ? tests : [])),
    seeds: Array.from({ length: values.seed === undefined ? values.seeds : 1 }, (_, i) => first + i),
    draw: {
      kinds: values.faults,
      brokers: values.volume ? VOLUME_BROKERS : values.brokers === '2' ? (2 as const) : (1 as const),
      longestPauseMs: longestPause === undefined ? undefined : longestPause * MS_PER_SECOND,
    },
    until: Date.now() + (values.minutes ?? Number.POSITIVE_INFINITY) * 60 * MS_PER_SECOND,
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main(): Promise<number> {
  const { tests, seeds, draw, until } = options()
  if (tests.length > 0) {
    // Reads the variables before any server starts, so that an invalid value is reported immediately.
    chaosConfig()
    // The options that select the seeds of schedules also select the seeds of a service's tests.
    const env = { CHAOS_SEED: String(seeds[0]), CHAOS_ROUNDS: String(seeds.length), ...process.env }
    const args = [VERIFY, '--projects', 'chaos', ...tests.map((name) => `tests/chaos/${name}.test.ts`)]
    return spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1
  }
  const failed: number[] = []
  const skipped: string[] = []
  let passed = 0
  let left = seeds
  while (left.length > 0 && Date.now() < until) {
    const folder = guardedFolder()
    try {
      const { first: broker, others } = await newKafkaCluster(
        folder.path,
        draw.brokers,
        draw.brokers === VOLUME_BROKERS ? VOLUME_SETTINGS : {},
      )
      await broker.start()
      for (const other of others) await other.start()
      for (let run = 0; run < SEEDS_PER_BROKER && left.length > 0 && Date.now() < until; run++) {
        const [seed, ...later] = left
        left = later
        if (await passes(drawSchedule(seed, draw), [broker, ...others], join(folder.path, `seed-${seed}`))) passed++
        else {
          failed.push(seed)
          // The failed run may have left the broker in any state, so the next run gets a new broker.
          break
        }
      }
    } finally {
      await folder.finish()
    }
  }
  const repeat = failed.map((seed) => `--seed ${seed}`).join(', ')
  for (const [what, times] of Map.groupBy(skipped, (reason) => reason)) say(`left out ${times.length} times: ${what}`)
  say(`${passed} passed, ${failed.length} failed${failed.length > 0 ? `: ${repeat}` : ''}`)
  return failed.length === 0 ? 0 : 1

  async function passes(schedule: Schedule, brokers: readonly [Component, ...Component[]], place: string): Promise<boolean> {
    const startedAt = Date.now()
    say(`seed ${schedule.seed}: ${described(schedule)}`)
    const result = await runTrial(schedule, { brokers, folder: place, say: (text) => say(`  ${text}`) })
    const took = ((Date.now() - startedAt) / MS_PER_SECOND).toFixed(1)
    const { payments, fences, crashes, faults } = result
    say(
      `  ${faults.length === 0 ? 'exact' : 'WRONG'}: the log has ${payments} payments, workers were fenced ${fences} times ` +
        `and ended by themselves ${crashes} times; the run took ${took} s`,
    )
    for (const fault of faults) say(`  ${fault}`)
    for (const fault of result.skipped) say(`  left out ${fault}`)
    skipped.push(...result.skipped)
    if (faults.length > 0) keep(schedule, brokers, place)
    rmSync(place, { recursive: true, force: true })
    return faults.length === 0
  }

  /** Keeps the logs of a failed run. */
  function keep(schedule: Schedule, brokers: readonly Component[], place: string): void {
    const target = join(chaosHome(), `seed-${schedule.seed}`)
    rmSync(target, { recursive: true, force: true })
    mkdirSync(target, { recursive: true })
    cpSync(place, target, { recursive: true, filter: (path) => !path.endsWith('/state') })
    for (const { name, logFile } of brokers) cpSync(logFile, join(target, `${name}.log`))
    writeFileSync(join(target, 'schedule.json'), JSON.stringify(schedule, undefined, 2))
    say(`  logs: ${target}`)
  }
}

await runMain(main)
