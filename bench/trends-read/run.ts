/**
 * `npm run bench:trends-read`: the read side of the trends service (bench:trends measures the pipeline): GET /v1/trends on servers of its own, closed loop, wrk beside on the same
 * cores. See run.command.ts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { inheritedEnv } from '../../deploy/local/config.ts'
import { kafkaBroker } from '../../deploy/local/kafka/broker.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { provisionTopics } from '../../deploy/local/provision.ts'
import { redisServer } from '../../deploy/local/redis.ts'
import { schemaRegistry } from '../../deploy/local/registry/component.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { cpuSeconds, describeMachine, machineCpuSeconds, peakRssMib } from '../engine/process-stats.ts'
import { applyLoad, type LoadResult, requireWrk } from './load.ts'
import declaration from './run.command.ts'
import { keepViewsFresh } from './views.ts'

const API_MAIN = fileURLToPath(new URL('../../api/main.ts', import.meta.url))
const TOOLS = fileURLToPath(new URL('../../.millrace/tools', import.meta.url))
const HEAP_MB = 256
const USERS = Array.from({ length: 100 }, (_, index) => BigInt(index + 1))
const TOKEN_SECONDS = 3_600
const WARM_UP_SECONDS = 3
const MS_PER_SECOND = 1_000

const { processes, seconds, connections, prof } = commandLine(declaration)

const say = (text: string) => process.stdout.write(`${text}\n`)
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))

interface Api {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

interface Scenario {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

async function startServers() {
  const common = { runDir: join(folder, 'run') }
  const kafka = kafkaBroker({
    ...common,
    ports: { client: await freePort(), controller: await freePort() },
    dataDir: join(folder, 'kafka'),
    logFile: join(folder, 'kafka.log'),
    toolsDir: TOOLS,
    heapMb: HEAP_MB,
  })
  const redis = redisServer({ ...common, port: await freePort(), dataDir: join(folder, 'redis'), logFile: join(folder, 'redis.log') })
  await Promise.all([kafka.start(), redis.start()])
  const registry = schemaRegistry({
    ...common,
    port: await freePort(),
    brokers: kafka.address,
    dataDir: join(folder, 'registry'),
    logFile: join(folder, 'registry.log'),
  })
  await registry.start()
  await provisionTopics(kafka.address, registry.address)
  return { kafka, redis, registry, all: [registry, redis, kafka] }
}

async function startApi(env: Record<string, string>): Promise<Api> {
  const profiling = prof === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(prof)}`]
  const child = spawn(process.execPath, [...profiling, API_MAIN], {
    env: { ...inheritedEnv(), ...env, API_PORT: '0', API_SERVICES: 'trends', MILLRACE_HOME: folder, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const url = await new Promise<string>((found) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (!text.includes('"api_started"')) return
      found((JSON.parse(text) as { url: string }).url)
    })
  })
  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    await exited
  }
  return { url, pid: child.pid!, stop }
}

async function untilReady(api: Api): Promise<void> {
  while (!(await fetch(`${api.url}/readyz`)).ok) await new Promise((done) => setTimeout(done, 100))
}

/** The same load on every process at once. */
async function measure(scenario: Scenario, apis: readonly Api[]): Promise<string> {
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
  return row(scenario.name, results, apiCpu, machineCpu, apis)
}

function row(name: string, results: readonly LoadResult[], apiCpu: number, machineCpu: number, apis: readonly Api[]): string {
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
  return `| ${cells.join(' | ')} |`
}

async function main(): Promise<void> {
  await requireWrk()
  say(`${describeMachine()}; ${processes} API process(es), ${connections} connections each, ${seconds} s`)
  const servers = await startServers()
  const views = await keepViewsFresh(servers.redis.address, USERS)
  const env = { KAFKA_BROKERS: servers.kafka.address, REDIS_URL: servers.redis.address, SCHEMA_REGISTRY_URL: servers.registry.address }
  const apis: Api[] = []
  try {
    for (let index = 0; index < processes; index++) apis.push(await startApi(env))
    for (const api of apis) await untilReady(api)
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
    say(`Redis holds ${(await views.memoryMib()).toFixed(0)} MiB: 551 regions × 500 candidates`)
    say('| requests | requests/s | P50 ms | P99 ms | P99.9 ms | API CPU µs/request | busy cores | failed | API peak RSS MiB |')
    say('| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
    for (const scenario of scenarios) say(await measure(scenario, apis))
    say('The pipeline that fills these lists is measured by npm run bench:trends.')
  } finally {
    await Promise.all(apis.map((api) => api.stop()))
    await views.stop()
    for (const server of servers.all) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await runMain(main)
