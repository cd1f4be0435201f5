/**
 * `npm run test:chaos -- --seeds 100`: that many random schedules of faults, one after the other; `--seed N` repeats one.
 * `--trends`, `--links`, `--snippets`, `--limits`: that service instead, whose parts fail again and again (SERVICES).
 * Exit code 1 when any output was not exactly what an offline computation of the input gives.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Component } from '../../deploy/local/component.ts'
import { guardedFolder } from '../stack/folder.ts'
import { newKafkaPair } from '../stack/kafka-pair.ts'
import { chaosHome } from './config.ts'
import { described, drawSchedule, FAULT_KINDS, type FaultKind, type Schedule } from './schedule.ts'
import { runTrial } from './trial.ts'

/** Which tests are a service's. */
const SERVICES = { trends: ['kills'], links: ['alias', 'clicks'], snippets: ['burns'], limits: ['limits'] } as const
const MS_PER_SECOND = 1_000
const MAX_SEED = 2 ** 31
const VERIFY = join(import.meta.dirname, '../../scripts/verify.ts')
const DEFAULT_SEEDS = '10'
/** A run leaves some eighty partitions: with those of a hundred a broker that was killed would take minutes to start. */
const SEEDS_PER_BROKER = 10

function options() {
  const { values } = parseArgs({
    options: {
      /** How many. */
      seeds: { type: 'string', default: DEFAULT_SEEDS },
      /** The first of them; the others follow. */
      from: { type: 'string' },
      seed: { type: 'string' },
      /** Only these kinds of faults, one of each per run. */
      faults: { type: 'string' },
      /** Ends after so many minutes, however many seeds are left. */
      minutes: { type: 'string', default: 'Infinity' },
      'longest-pause': { type: 'string' },
      /** 2: partitions and coordinators are moved between them. */
      brokers: { type: 'string', default: '1' },
      trends: { type: 'boolean', default: false },
      links: { type: 'boolean', default: false },
      snippets: { type: 'boolean', default: false },
      limits: { type: 'boolean', default: false },
    },
  })
  const kinds = values.faults?.split(',') as FaultKind[] | undefined
  for (const kind of kinds ?? []) if (!FAULT_KINDS.includes(kind)) throw new Error(`no fault ${kind}; there are ${FAULT_KINDS.join(', ')}`)
  const first = Number(values.seed ?? values.from ?? Math.floor(Math.random() * MAX_SEED))
  const longestPause = values['longest-pause']
  return {
    tests: Object.entries(SERVICES).flatMap(([service, tests]) => (values[service as keyof typeof SERVICES] ? tests : [])),
    seeds: Array.from({ length: values.seed === undefined ? Number(values.seeds) : 1 }, (_, i) => first + i),
    draw: {
      kinds,
      brokers: values.brokers === '2' ? (2 as const) : (1 as const),
      longestPauseMs: longestPause === undefined ? undefined : Number(longestPause) * MS_PER_SECOND,
    },
    until: Date.now() + Number(values.minutes) * 60 * MS_PER_SECOND,
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main(): Promise<number> {
  const { tests, seeds, draw, until } = options()
  if (tests.length > 0) {
    const args = [VERIFY, '--projects', 'chaos', ...tests.map((name) => `tests/chaos/${name}.test.ts`)]
    return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
  }
  const failed: number[] = []
  const skipped: string[] = []
  let passed = 0
  let left = seeds
  while (left.length > 0 && Date.now() < until) {
    const folder = guardedFolder()
    try {
      const { first: broker, second } = await newKafkaPair(folder.path)
      await broker.start()
      if (draw.brokers === 2) await second.start()
      for (let run = 0; run < SEEDS_PER_BROKER && left.length > 0 && Date.now() < until; run++) {
        const [seed, ...others] = left
        left = others
        if (await passes(drawSchedule(seed, draw), broker, join(folder.path, `seed-${seed}`))) passed++
        else {
          failed.push(seed)
          // Nobody knows what state it has left the broker in.
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

  async function passes(schedule: Schedule, broker: Component, place: string): Promise<boolean> {
    const startedAt = Date.now()
    say(`seed ${schedule.seed}: ${described(schedule)}`)
    const result = await runTrial(schedule, { broker, folder: place, say: (text) => say(`  ${text}`) })
    const took = ((Date.now() - startedAt) / MS_PER_SECOND).toFixed(1)
    say(
      `  ${result.faults.length === 0 ? 'exact' : 'WRONG'}: ${result.payments} payments, ${result.fences} fences, ${result.crashes} restarts by themselves, ${took} s`,
    )
    for (const fault of result.faults) say(`  ${fault}`)
    for (const fault of result.skipped) say(`  left out ${fault}`)
    skipped.push(...result.skipped)
    if (result.faults.length > 0) keep(schedule, broker, place)
    rmSync(place, { recursive: true, force: true })
    return result.faults.length === 0
  }

  /** Logs of a failed run. */
  function keep(schedule: Schedule, broker: Component, place: string): void {
    const target = join(chaosHome(), `seed-${schedule.seed}`)
    rmSync(target, { recursive: true, force: true })
    mkdirSync(target, { recursive: true })
    cpSync(place, target, { recursive: true, filter: (path) => !path.endsWith('/state') })
    cpSync(broker.logFile, join(target, 'kafka.log'))
    writeFileSync(join(target, 'schedule.json'), JSON.stringify(schedule, undefined, 2))
    say(`  logs: ${target}`)
  }
}

process.exitCode = await main()
