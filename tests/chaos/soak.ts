/**
 * `npm run test:soak`: runs three workers with steady input, cuts their connections, and fences them so that they
 * rejoin. Prints how the memory and the number of open files of each worker changed over time. Exits with code 1 if
 * either grew too much or the output was wrong. Memory is measured shortly after a forced garbage collection. An idle
 * process rarely collects garbage, and uncollected garbage would look like a leak.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { guardedFolder } from '../stack/folder.ts'
import { newKafka } from '../stack/servers.ts'
import { growth, growthFaults, type Sample } from './growth.ts'
import { type PlannedFault, WORKERS } from './schedule.ts'
import declaration from './soak.command.ts'
import { runTrial } from './trial.ts'
import type { WorkerSlot } from './worker-slot.ts'

const MIB = 1_048_576
const KIB = 1_024
const MINUTE_MS = 60_000
const SAMPLE_EVERY_MS = 20_000
/** Pause after a garbage collection. V8 returns empty pages to the system in the background during this time. */
const COLLECTION_MS = 1_000
const CUT_EVERY_MS = 20_000
/** Interval at which each worker is fenced, drops its tasks and rejoins. */
const ZOMBIE_EVERY_MS = 3 * MINUTE_MS
const ZOMBIE_MS = 8_000

/**
 * Returns the faults of a run. None of them ends a process, because the memory of each process is measured over the
 * whole run.
 */
function faultsFor(durationMs: number): PlannedFault[] {
  const faults: PlannedFault[] = []
  for (let atMs = CUT_EVERY_MS; atMs < durationMs; atMs += CUT_EVERY_MS)
    faults.push({ atMs, fault: { kind: 'cut', worker: (atMs / CUT_EVERY_MS) % WORKERS, times: 3, gapMs: 50 } })
  for (let atMs = ZOMBIE_EVERY_MS / WORKERS; atMs < durationMs; atMs += ZOMBIE_EVERY_MS / WORKERS)
    faults.push({ atMs, fault: { kind: 'zombie', worker: Math.floor((atMs * WORKERS) / ZOMBIE_EVERY_MS) % WORKERS, ms: ZOMBIE_MS } })
  return faults
}

function look(pid: number, atMs: number): Sample {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { atMs, rssBytes: Number(kib) * KIB, handles: readdirSync(`/proc/${pid}/fd`).length }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main(): Promise<number> {
  const { minutes, rate } = commandLine(declaration)
  const inputMs = minutes * MINUTE_MS
  const series: Sample[][] = Array.from({ length: WORKERS }, () => [])
  const ended = new AbortController()

  async function sample(workers: readonly WorkerSlot[]): Promise<void> {
    const startedAt = performance.now()
    while (!ended.signal.aborted && performance.now() - startedAt < inputMs) {
      await delay(SAMPLE_EVERY_MS)
      for (const worker of workers) worker.tell({ order: 'collect' })
      await delay(COLLECTION_MS)
      for (const [i, worker] of workers.entries()) {
        if (worker.pid === undefined || worker.isStopped()) continue
        series[i].push(look(worker.pid, performance.now() - startedAt))
      }
    }
  }

  const folder = guardedFolder()
  const faults: string[] = []
  try {
    const broker = await newKafka(folder.path)
    await broker.start()
    const schedule = { seed: 1, settings: { standby: 1, keepPlaceOnStop: false }, atVolume: false, faults: faultsFor(inputMs) } as const
    const payments = Math.round((inputMs / 1_000) * rate)
    const watch = (workers: readonly WorkerSlot[]) => void sample(workers)
    const deps = { brokers: [broker] as const, folder: join(folder.path, 'soak'), say }
    const result = await runTrial(schedule, deps, { payments, inputMs, everyReceipt: true, watch })
    faults.push(...result.faults)
    say(`The log has ${result.payments} payments, and workers were fenced ${result.fences} times.`)
  } finally {
    ended.abort()
    await folder.finish()
  }
  for (const [worker, samples] of series.entries()) {
    const grown = growth(samples)
    const { meanRssBytes, rssBytesPerHour, rssRise, firstHandles, lastHandles } = grown
    say(
      `worker ${worker}: according to ${samples.length} samples, memory (RSS) was ${(meanRssBytes / MIB).toFixed(0)} MiB on average and ` +
        `changed by ${(rssBytesPerHour / MIB).toFixed(1)} MiB/h, or ${(rssRise * 100).toFixed(1)} % over the time measured; ` +
        `the number of open files changed from ${firstHandles} to ${lastHandles}`,
    )
    faults.push(...growthFaults(grown).map((fault) => `worker ${worker}: ${fault}`))
  }
  for (const fault of faults) say(fault)
  say(faults.length === 0 ? 'Memory and open files of all workers stayed within their limits, and the output is right.' : 'FAILED')
  return faults.length === 0 ? 0 : 1
}

await runMain(main)
