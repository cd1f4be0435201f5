/** `npm run bench:clicks`: measures the clicks pipeline and its sinks on separate servers. See run.command.ts. */
import { readFileSync } from 'node:fs'
import { waitUntil } from '../../deploy/local/wait.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { expectedDataFolder } from '../../scripts/config.ts'
import { dataSet } from '../../scripts/data-sets.ts'
import { benchTransport } from '../harness/broker.ts'
import { withStarted } from '../harness/folder.ts'
import { profileTo } from '../harness/node-process.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { type BenchServers, startServers } from '../harness/servers.ts'
import { appendResults, quantile, row } from '../harness/table.ts'
import { startWorker } from '../harness/worker.ts'
import { measureAccuracy } from './accuracy.ts'
import { type BacklogFigures, measureBacklog } from './backlog.ts'
import { confusionMatrix, readUserAgents, type UserAgents } from './bots.ts'
import { measureFreshness } from './freshness.ts'
import { measureParts } from './parts.ts'
import declaration from './run.command.ts'
import { SPREADS } from './stream.ts'

const PARTITIONS = 4
const START_TIMEOUT_MS = 60_000
const TITLES = [
  'clicks',
  'counted/s',
  'in Redis and ClickHouse/s',
  'worker CPU s/M',
  'broker CPU s/M',
  'Redis and ClickHouse CPU s/M',
  'peak RSS MiB',
  'state MiB',
  'others CPU s',
]

const values = commandLine(declaration)
const lines: string[] = []

/** Prints a line and saves it for bench/results.md. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
  lines.push(line)
}

function cellsOf(figures: BacklogFigures): string[] {
  const { clicksPerSecond, storedPerSecond, cpu, brokerCpu, storesCpu, peakRssMib, stateMib, otherCpuSeconds } = figures
  const whole = [clicksPerSecond, storedPerSecond].map((figure) => figure.toFixed(0))
  return [
    ...whole,
    ...[cpu, brokerCpu, storesCpu].map((figure) => figure.toFixed(1)),
    ...[peakRssMib, stateMib, otherCpuSeconds].map(Math.round).map(String),
  ]
}

function sayMatrix(userAgents: UserAgents): void {
  const { caught, missed, wronglyCaught, letThrough } = confusionMatrix(userAgents)
  say(row(['user agents', 'classified as bots', 'classified as people']))
  say(row(['---', '--:', '--:']))
  say(row([`${userAgents.crawlers.length} crawlers`, String(caught), String(missed.length)]))
  say(row([`${userAgents.browsers.length} browsers`, String(wronglyCaught), String(letThrough)]))
  say('')
}

function sayAccuracy(): void {
  const { topFound, worstCount, visitors } = measureAccuracy()
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  say(
    `One link, 1,000,000 clicks from 100,000 referrers by Zipf's law: ${topFound} of the true top 10 referrers were in the statistics; the largest relative error of a count was ${percent(worstCount)}.`,
  )
  say(`Visitors, root mean square error over 12 links: ${visitors.map(([count, error]) => `${count}: ${percent(error)}`).join(', ')}.`)
  say('')
}

async function pipeline(servers: BenchServers, userAgents: readonly string[]): Promise<void> {
  const worker = await startWorker(servers, 0, profileTo(values.prof), 'clicks')
  const transport = benchTransport(servers.addresses.kafka)
  await transport.connect()
  try {
    await waitUntil(async () => (await worker.tasks()) === PARTITIONS, { what: 'the worker', timeoutMs: START_TIMEOUT_MS })
    // This run only warms up the worker, so that its code is compiled as in a long-running process.
    await measureBacklog(servers, transport, worker, { spread: 'zipf', count: Math.ceil(values.clicks / 3), userAgents, seed: 1 })
    say(row(TITLES))
    say(row(TITLES.map((_, index) => (index === 0 ? '---' : '--:'))))
    for (const [index, spread] of SPREADS.entries()) {
      const options = { spread, count: values.clicks, userAgents, seed: index + 2 }
      say(row([spread, ...cellsOf(await measureBacklog(servers, transport, worker, options))]))
    }
    const { rate, seconds } = values
    const { seenMs, asOfAgeMs } = await measureFreshness(servers, transport, { rate, seconds, userAgents })
    const shown = (times: readonly number[]) =>
      `P50 ${quantile(times, 0.5)} ms, P99 ${quantile(times, 0.99)} ms, maximum ${times.at(-1)} ms`
    say('')
    say(
      `At ${rate} clicks/s: time from the first click of a link to its statistics in the view, ${seenMs.length} links: ${shown(seenMs)}; age of as_of at that time: ${shown(asOfAgeMs)}.`,
    )
  } finally {
    await transport.close()
    await worker.stop()
  }
}

async function main(): Promise<void> {
  const folder = dataSet(expectedDataFolder(), 'userAgents')
  const userAgents = readUserAgents(folder, readFileSync)
  const browsers = userAgents.browsers.map(({ userAgent }) => userAgent)
  say(
    `${describeMachine()}. Each backlog has ${values.clicks} clicks. One worker process counts them with exactly-once processing, and runs the sinks. The number of clicks in ClickHouse is verified.`,
  )
  say('')
  sayMatrix(userAgents)
  say(
    `µs of CPU per click: ${measureParts(browsers)
      .map(([part, us]) => `${part} ${us.toFixed(2)}`)
      .join(', ')}.`,
  )
  say('')
  sayAccuracy()
  await withStarted(startServers, (servers) => pipeline(servers, browsers))
  appendResults('bench:clicks', values.note, lines)
}

await runMain(main)
