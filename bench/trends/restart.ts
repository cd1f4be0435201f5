import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { benchTransport } from '../harness/broker.ts'
import { cpuSeconds, peakRssMib, rssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import type { WorkerProcess } from '../harness/worker.ts'
import { untilRenewed } from './full-lists.ts'
import { sendLiveTerms, writeBaselines } from './live-terms.ts'
import { untilCaughtUp } from './progress.ts'
import { startWorkers } from './throughput.ts'

export interface RestartOptions {
  /** Number of different terms in the window. */
  readonly terms: number
  readonly baselines: number
  readonly nodeArguments: readonly string[]
}

type Say = (line: string, kept?: boolean) => void

const LIST_EVERY_MS = 250
const WATCH_EVERY_MS = 50
const FRESH_TIMEOUT_MS = 600_000
const BYTES_PER_MIB = 1_048_576
const MS_PER_SECOND = 1_000

const inSeconds = (ms: number) => (ms / MS_PER_SECOND).toFixed(1)

/**
 * Fills a worker with baselines, and with terms that occurred once in the last hour. Then restarts the worker in three
 * ways: after a stop, after a kill, and after a kill with its state folder deleted. Measures the memory, the time until
 * all tasks of the worker are running, the time until all lists are fresh, and how long the event loop was blocked.
 */
export async function measureRestart(servers: BenchServers, options: RestartOptions, say: Say): Promise<void> {
  const transport = benchTransport(servers.addresses.kafka)
  await transport.connect()
  let worker = await started(servers, options)
  try {
    const api = (await servers.startApi()).address
    const { terms, baselines } = options
    if (baselines > 0) {
      await worker.stop()
      await writeBaselines(servers, transport, baselines)
      forget(worker)
      const before = performance.now()
      worker = await started(servers, options)
      say(`- ${baselines} baselines restored, and all tasks running, ${inSeconds(performance.now() - before)} s after the start`, true)
    }
    const empty = rssMib(worker.pid)
    const filled = performance.now()
    const cpuBefore = cpuSeconds(worker.pid)
    const sending = sendLiveTerms(servers, transport, terms)
    const stalls = watchLoop(worker)
    await sending
    await untilCaughtUp(servers.addresses.kafka, transport, [worker])
    await untilRenewed(servers)
    say(
      `- ${terms} terms counted and listed in ${inSeconds(performance.now() - filled)} s, with ${(cpuSeconds(worker.pid) - cpuBefore).toFixed(0)} s of worker CPU; event loop blocked for at most ${inSeconds(await stalls.stop())} s`,
      true,
    )
    const rss = rssMib(worker.pid)
    const each = ((rss - empty) * BYTES_PER_MIB) / terms
    const disk = (worker.stateBytes() / BYTES_PER_MIB).toFixed(0)
    say(
      `- memory ${rss} MiB (before the terms ${empty}, peak ${peakRssMib(worker.pid)}), ${each.toFixed(0)} bytes more per term; ${disk} MiB of state on disk`,
      true,
    )

    const ends: readonly [what: string, end: () => Promise<void>][] = [
      ['stopped and started', () => worker.stop()],
      ['killed and started', () => worker.kill()],
      [
        'killed, folder lost',
        async () => {
          await worker.kill()
          forget(worker)
        },
      ],
    ]
    for (const [what, end] of ends) {
      await end()
      const from = Date.now()
      const starting = started(servers, options)
      const fresh = untilFresh(api, from)
      worker = await starting
      const readyMs = Date.now() - from
      const loop = watchLoop(worker)
      const { freshMs, oldestMs } = await fresh
      say(
        `- ${what}: all tasks running after ${inSeconds(readyMs)} s; all lists fresh after ${inSeconds(freshMs)} s, and until then at most ${inSeconds(oldestMs)} s old; event loop blocked for at most ${inSeconds(await loop.stop())} s; memory ${rssMib(worker.pid)} MiB, peak ${peakRssMib(worker.pid)}`,
        true,
      )
    }
  } finally {
    await worker.stop()
    await transport.close()
  }
}

async function started(servers: BenchServers, { nodeArguments }: RestartOptions): Promise<WorkerProcess> {
  const [worker] = await startWorkers(servers, 1, nodeArguments)
  return worker
}

function forget({ stateFolder }: WorkerProcess): void {
  rmSync(stateFolder, { recursive: true, force: true })
}

/**
 * Waits until each region has a list whose window ended after `from`.
 * @returns the time from `from` until all lists were fresh, and the maximum age of the older lists that were served
 * until then
 */
async function untilFresh(api: string, from: number): Promise<{ freshMs: number; oldestMs: number }> {
  const waiting = new Set(regions.map(({ woeid }) => woeid))
  let oldestMs = 0
  async function look(woeid: number): Promise<void> {
    const response = await fetch(`${api}/v1/trends?woeid=${woeid}&limit=1`)
    const text = await response.text()
    if (!response.ok) return
    const asOf = Date.parse((JSON.parse(text) as { as_of: string }).as_of)
    if (asOf > from) waiting.delete(woeid)
    else oldestMs = Math.max(oldestMs, Date.now() - asOf)
  }
  async function allAreFresh(): Promise<boolean> {
    for (const woeid of waiting) await look(woeid)
    return waiting.size === 0
  }
  await waitUntil(allAreFresh, { what: 'fresh lists', timeoutMs: FRESH_TIMEOUT_MS, intervalMs: LIST_EVERY_MS })
  return { freshMs: Date.now() - from, oldestMs }
}

/** Sends requests to the worker, one after another, to find out how long its event loop is blocked. */
export function watchLoop(worker: WorkerProcess): { stop(): Promise<number> } {
  let longest = 0
  let running = true
  async function watch(): Promise<void> {
    while (running) {
      const before = performance.now()
      await worker.tasks().catch(() => 0)
      longest = Math.max(longest, performance.now() - before)
      await delay(WATCH_EVERY_MS)
    }
  }
  const watching = watch()
  return {
    /** @returns the longest response time of the worker, in ms */
    async stop() {
      running = false
      await watching
      return longest
    },
  }
}
