/** `npm run bench:trends`: measures the whole pipeline on its own servers. See run.command.ts. */
import type { AnyTopic } from '../../schemas/topic.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { withStarted } from '../harness/folder.ts'
import { profileTo } from '../harness/node-process.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { type BenchServers, startServers } from '../harness/servers.ts'
import { appendResults, median, quantile, row } from '../harness/table.ts'
import { type Backlog, demoBacklog, withHotTerm } from './backlog.ts'
import { type FullListFigures, measureFullLists, untilRenewed } from './full-lists.ts'
import { recordedBacklog } from './recorded.ts'
import { measureRestart } from './restart.ts'
import declaration from './run.command.ts'
import { measureSteady } from './steady.ts'
import { measureBacklog, startWorkers, type ThroughputFigures, verifyContributions } from './throughput.ts'

interface Column {
  readonly title: string
  readonly digits: number
  readonly of: (run: ThroughputFigures) => number
}

const COLUMNS: readonly Column[] = [
  { title: 'events/s', digits: 0, of: (run) => run.eventsPerSecond },
  { title: 'stage 1 events/s', digits: 0, of: (run) => run.inputPerSecond },
  { title: 'worker CPU s/M', digits: 1, of: (run) => run.cpu },
  { title: 'broker CPU s/M', digits: 1, of: (run) => run.brokerCpu },
  { title: 'Redis and ClickHouse CPU s/M', digits: 1, of: (run) => run.storesCpu },
  { title: 'peak RSS MiB', digits: 0, of: (run) => run.peakRssMib },
  { title: 'state MiB', digits: 0, of: (run) => run.stateMib },
  { title: 'renewals', digits: 1, of: (run) => run.renewals },
  { title: 'published volumes per tweet', digits: 2, of: (run) => run.volumes },
  { title: 'others CPU s', digits: 1, of: (run) => run.otherCpuSeconds },
]

const values = commandLine(declaration)

const nodeArguments = profileTo(values.prof)
const lines: string[] = []
const cellsOf = (of: (column: Column) => number) => COLUMNS.map((column) => of(column).toFixed(column.digits))

/** Prints a line. @param kept true if the line is also appended to bench/results.md */
function say(line: string, kept = false): void {
  process.stdout.write(`${line}\n`)
  if (kept) lines.push(line)
}

async function oneRun(servers: BenchServers, workerCount: number): Promise<ThroughputFigures> {
  const workers = await startWorkers(servers, workerCount, nodeArguments, values.terms)
  try {
    const make = values.stream === 'recorded' ? recordedBacklog : demoBacklog
    const backlog = withHotTerm(await make(values.warmup + values.events, values.minutes, Date.now()), values.hot)
    const part = (from: number, to?: number): Backlog => ({ ...backlog, tweets: backlog.tweets.slice(from, to) })
    if (values.warmup > 0) {
      await measureBacklog(servers, workers, part(0, values.warmup))
      await untilRenewed(servers)
    }
    const figures = await measureBacklog(servers, workers, part(values.warmup))
    say(row([`${workerCount}, not verified yet`, ...cellsOf((column) => column.of(figures))]))
    say(`records per tweet: ${[...figures.records].map(([topic, each]) => `${topic} ${each.toFixed(2)}`).join(', ')}`)
    await verifyContributions(servers, workers, backlog.contributions)
    const contributions = (backlog.contributions / backlog.tweets.length).toFixed(1)
    say(
      `verified; per tweet: ${contributions} contributions, ${await rowsPerTweet(servers, backlog.tweets.length)} volume rows in ClickHouse`,
    )
    return figures
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
}

/** Topics that are keyed by term. `--terms` sets their partition count. */
const TERM_TOPICS = ['trends-drawn-cells-repartition', 'trends-listed-repartition']

function partitionsOf({ name, partitions }: AnyTopic): number {
  return TERM_TOPICS.includes(name) ? values.terms : partitions
}

async function rowsPerTweet(servers: BenchServers, tweets: number): Promise<string> {
  const rows = await servers.query('SELECT (SELECT count() FROM trend_volumes) + (SELECT count() FROM trend_rare_volumes)')
  return (rows / tweets).toFixed(2)
}

async function throughput(workerCounts: readonly number[]): Promise<void> {
  say(row(['run', ...COLUMNS.map((column) => column.title)]), true)
  say(row(['---', ...COLUMNS.map(() => '--:')]), true)
  for (const workerCount of workerCounts) {
    const runs: ThroughputFigures[] = []
    const name = workerCount === 1 ? '1 worker' : `${workerCount} workers`
    for (let run = 1; run <= values.runs; run++) {
      const measured = await withStarted(
        (folder) => startServers(folder, { partitionsOf }),
        (servers) => oneRun(servers, workerCount),
      )
      runs.push(measured)
      say(row([`${name}, run ${run}`, ...cellsOf((column) => column.of(measured))]))
    }
    say(row([`${name}, median of ${runs.length}`, ...cellsOf((column) => median(runs.map(column.of)))]), true)
  }
}

async function fullLists(): Promise<void> {
  const { rate, seconds, renewals } = values
  const figures = await withStarted(startServers, (servers) => measureFullLists(servers, { rate, seconds, renewals, nodeArguments }))
  const { seen, missing } = figures.freshness
  const secondsAt = (share: number) => (quantile(seen, share) / 1_000).toFixed(1)
  const parts = (cpu: FullListFigures['renewalCpu']) =>
    Object.entries(cpu)
      .map(([part, used]) => `${part} ${used.toFixed(2)}`)
      .join(', ')
  say('', true)
  say('551 regions of 500 terms, 1 worker:', true)
  say(`- CPU seconds per renewal of all lists (one every 30 s): ${parts(figures.renewalCpu)}`, true)
  say(`- CPU seconds of the worker in each of these renewals: ${figures.workerCpu.map((used) => used.toFixed(2)).join(', ')}`, true)
  say(`- at ${rate} tweets/s, CPU seconds per second: ${parts(figures.liveCpu)}`, true)
  say(
    `- event to GET /v1/trends: P50 ${secondsAt(0.5)} s, P99 ${secondsAt(0.99)} s, maximum ${secondsAt(1)} s for ${seen.length} new terms; never seen: ${missing}`,
    true,
  )
  say(
    `- worker: ${figures.peakRssMib} MiB peak RSS, ${figures.stateMib.toFixed(0)} MiB of state on disk; Redis ${figures.redisMib.toFixed(0)} MiB`,
    true,
  )
  say(`- ClickHouse rows: ${figures.snapshotRows} snapshots per minute, ${figures.volumeRows.toFixed(2)} volumes per tweet`, true)
}

async function steady(): Promise<void> {
  const { rate, steady: seconds, compared } = values
  const figures = await withStarted(startServers, (servers) => measureSteady(servers, { rate, seconds, compared, nodeArguments }))
  const { seen, missing, events } = figures.freshness
  const secondsAt = (share: number) => (quantile(seen, share) / 1_000).toFixed(1)
  say('', true)
  say(`1 worker, ${events} recorded tweets at ${rate}/s:`, true)
  say(
    `- event to GET /v1/trends: P50 ${secondsAt(0.5)} s, P99 ${secondsAt(0.99)} s, maximum ${secondsAt(1)} s for ${seen.length} new terms; never seen: ${missing}`,
    true,
  )
  say(
    `- oldest list ${(figures.oldestMs / 1_000).toFixed(1)} s; longest response time of the worker ${(figures.stallMs / 1_000).toFixed(2)} s`,
    true,
  )
  say(
    `- CPU seconds per second: worker ${figures.workerCpu.toFixed(2)}, all others ${figures.otherCpu.toFixed(2)}; worker ${figures.peakRssMib} MiB peak RSS`,
    true,
  )
  const faults = figures.listFaults
  say(`- of ${compared} compared lists, ${faults.length === 0 ? 'all equal the offline count' : `some differ: ${faults.join('; ')}`}`, true)
  if (faults.length > 0) process.exitCode = 1
}

async function restarts(): Promise<void> {
  const { live: terms, baselines } = values
  say('', true)
  say(`1 worker with ${terms} terms that occurred once, and ${baselines} baselines:`, true)
  await withStarted(startServers, (servers) => measureRestart(servers, { terms, baselines, nodeArguments }, say))
}

async function main(): Promise<void> {
  say('This benchmark measures the pipeline; npm run bench:trends-read measures the read side.')
  say(describeMachine(), true)
  say(
    `Each backlog has ${values.events} tweets of the last ${values.minutes} minutes from the ${values.stream} stream${values.hot > 0 ? `, and a share of ${values.hot} has the same additional term` : ''}. Topics that are keyed by term have ${values.terms} partitions. Processing is exactly-once, and the sum of all counts is verified in ClickHouse.`,
    true,
  )
  say('', true)
  const workerCounts = values.workers.filter((count) => count > 0)
  if (workerCounts.length > 0) await throughput(workerCounts)
  if (values.seconds > 0) await fullLists()
  if (values.steady > 0) await steady()
  if (values.live > 0) await restarts()
  appendResults('bench:trends', values.note, lines)
}

await runMain(main)
