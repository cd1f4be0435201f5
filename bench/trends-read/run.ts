/**
 * `npm run bench:trends-read`: measures the read side of the trends service on its own servers: lists in a closed loop
 * with wrk on the same cores, or histories. `npm run bench:trends` measures the pipeline. See run.command.ts.
 */
import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { withStarted } from '../harness/folder.ts'
import { profileTo, startApiProcess, untilReady } from '../harness/node-process.ts'
import { cpuSeconds, describeMachine, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import { startServers, WITHOUT_CLICKHOUSE } from '../harness/servers.ts'
import { row } from '../harness/table.ts'
import { measureHistory, startHistoryServers } from './history.ts'
import { applyLoad, type LoadResult, requireWrk } from './load.ts'
import declaration from './run.command.ts'
import { keepViewsFresh } from './views.ts'

const USERS = Array.from({ length: 100 }, (_, index) => BigInt(index + 1))
const TOKEN_SECONDS = 3_600
const WARM_UP_SECONDS = 3
const MS_PER_SECOND = 1_000

const { part, processes, seconds, connections, prof } = commandLine(declaration)

const say = (text: string) => process.stdout.write(`${text}\n`)

interface Scenario {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

interface Api {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

interface ReadServers {
  readonly apis: readonly Api[]
  readonly views: Awaited<ReturnType<typeof keepViewsFresh>>
  stop(): Promise<void>
}

async function startReadServers(folder: string): Promise<ReadServers> {
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  const views = await keepViewsFresh(servers.addresses.redis, USERS)
  const apis: Api[] = []
  async function stop(): Promise<void> {
    await Promise.all(apis.map((api) => api.stop()))
    await views.stop()
    await servers.stop()
  }
  try {
    const env = { ...servers.env, API_PORT: '0', API_SERVICES: 'trends', LOG_LEVEL: 'info' }
    for (let index = 0; index < processes; index++) {
      const api = await startApiProcess(profileTo(prof), env)
      apis.push({ ...api, url: api.line.url as string })
    }
    await untilReady(...apis.map(({ url }) => url))
  } catch (error) {
    await stop()
    throw error
  }
  return { apis, views, stop }
}

/**
 * Applies the same load to all API processes concurrently: first to warm up, and then for the measurement. Returns the
 * row of results.
 */
async function measure(scenario: Scenario, apis: readonly Api[], folder: string): Promise<string> {
  const load = (duration: number) =>
    Promise.all(
      apis.map(({ url }) => applyLoad({ url, paths: scenario.paths, headers: scenario.headers, connections, seconds: duration, folder })),
    )
  await load(WARM_UP_SECONDS)
  const apiBefore = apis.map(({ pid }) => cpuSeconds(pid))
  const machineBefore = machineCpuSeconds()
  const results = await load(seconds)
  const apiCpu = apis.reduce((sum, { pid }, index) => sum + cpuSeconds(pid) - apiBefore[index], 0)
  const machineCpu = machineCpuSeconds() - machineBefore
  return resultRow(scenario.name, results, apiCpu, machineCpu, apis)
}

function resultRow(name: string, results: readonly LoadResult[], apiCpu: number, machineCpu: number, apis: readonly Api[]): string {
  const requests = results.reduce((sum, result) => sum + result.requests, 0)
  const rate = results.reduce((sum, result) => sum + (result.requests * MS_PER_SECOND) / result.durationMs, 0)
  const worst = (of: (result: LoadResult) => number) => Math.max(...results.map(of)).toFixed(1)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  const cells = [
    name,
    Math.round(rate),
    worst(({ p50Ms }) => p50Ms),
    worst(({ p99Ms }) => p99Ms),
    worst(({ p999Ms }) => p999Ms),
    ((apiCpu * 1e6) / requests).toFixed(1),
    (machineCpu / seconds).toFixed(2),
    failed,
    apis.map(({ pid }) => peakRssMib(pid)).join(', '),
  ]
  return row(cells)
}

async function run({ apis, views }: ReadServers, folder: string): Promise<void> {
  const key = await ensureDevelopmentKey(folder)
  const token = await mintToken(key, {
    subject: '7',
    issuer: 'millrace',
    audience: 'millrace',
    lifetimeSeconds: TOKEN_SECONDS,
    now: Date.now(),
  })
  const scenarios: Scenario[] = [
    { name: 'worldwide', paths: ['/v1/trends?woeid=1'] },
    { name: 'worldwide, gzip', paths: ['/v1/trends?woeid=1'], headers: { 'Accept-Encoding': 'gzip' } },
    { name: 'all 551 regions', paths: regions.map(({ woeid }) => `/v1/trends?woeid=${woeid}`) },
    { name: 'worldwide, with a token', paths: ['/v1/trends?woeid=1'], headers: { Authorization: `Bearer ${token}` } },
    { name: 'personalized, worldwide', paths: ['/v1/trends?personalized=true'], headers: { Authorization: `Bearer ${token}` } },
  ]
  say(`Redis uses ${(await views.memoryMib()).toFixed(0)} MiB for 551 regions with 500 candidates each`)
  say('| requests | requests/s | P50 ms | P99 ms | P99.9 ms | API CPU µs/request | busy cores | failed | API peak RSS MiB |')
  say('| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
  for (const scenario of scenarios) say(await measure(scenario, apis, folder))
  say('npm run bench:trends measures the pipeline that fills these lists.')
}

async function main(): Promise<void> {
  if (part === 'history') {
    say(describeMachine())
    return await withStarted(startHistoryServers, (servers) => measureHistory(servers, say))
  }
  await requireWrk()
  say(`${describeMachine()}; in each row, ${connections} connections load each API process (${processes} in total) for ${seconds} s`)
  await withStarted(startReadServers, run)
}

await runMain(main)
