/**
 * `npm run bench:catalog`: measures the product page and compares it with a Hono server that returns a constant
 * response of the same size. See run.command.ts.
 */
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { withStarted } from '../../harness/folder.ts'
import { liftSeededLimits } from '../../harness/lift-limits.ts'
import { type NodeProcess, profileTo, startApiProcess, startNode } from '../../harness/node-process.ts'
import { cpuSeconds, describeMachine, machineCpuSeconds, peakRssMib } from '../../harness/process-stats.ts'
import { startServers, WITHOUT_CLICKHOUSE } from '../../harness/servers.ts'
import { row } from '../../harness/table.ts'
import { applyLoad, requireWrk } from '../../trends-read/load.ts'
import declaration from './run.command.ts'
import { changeStock, fillViews } from './views.ts'

/**
 * Duration of the warm-up. With the default number of products, the load requests each page more than once in this
 * time. This matters because the API process asks Redis to report changes of a page only when the page is requested a
 * second time (ADR 76).
 */
const WARM_UP_SECONDS = 8
const MS_PER_SECOND = 1_000
const TOKEN_SECONDS = 3_600
/**
 * Number of products in the round with hot products. It is so small that each product is requested again almost
 * immediately.
 */
const HOT_PRODUCTS = 100
const READY = { what: 'the first page', timeoutMs: 60_000, intervalMs: 200 }

const { seconds, connections, products, changes, prof } = commandLine(declaration)
const say = (text: string) => process.stdout.write(`${text}\n`)

interface Started {
  readonly api: NodeProcess
  readonly ids: readonly number[]
  readonly redisUrl: string
  stop(): Promise<void>
}

async function start(folder: string): Promise<Started> {
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  let api: NodeProcess | undefined
  async function stop(): Promise<void> {
    await api?.stop()
    await servers.stop()
  }
  try {
    await liftSeededLimits(servers)
    const ids = await fillViews(servers.addresses.redis, products)
    const env = { ...servers.env, API_PORT: '0', API_SERVICES: 'catalog', LOG_LEVEL: 'info' }
    api = await startApiProcess(profileTo(prof), env)
    const first = `${api.line.url}${pathOf(ids[0])}`
    await waitUntil(async () => (await fetch(first)).ok, READY)
    return { api, ids, redisUrl: servers.addresses.redis, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function pathOf(id: number): string {
  return `/api/v1/products/${id}`
}

interface Scenario {
  readonly name: string
  readonly server: NodeProcess
  readonly paths: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

async function measure({ name, server, paths, headers }: Scenario, folder: string): Promise<void> {
  const load = (duration: number) => applyLoad({ url: server.line.url as string, paths, headers, connections, seconds: duration, folder })
  await load(WARM_UP_SECONDS)
  const [cpuBefore, machineBefore] = [cpuSeconds(server.pid), machineCpuSeconds()]
  const { requests, durationMs, p50Ms, p99Ms, p999Ms, failed } = await load(seconds)
  const cpuMicros = ((cpuSeconds(server.pid) - cpuBefore) * 1e6) / requests
  const busyCores = (machineCpuSeconds() - machineBefore) / seconds
  const rate = Math.round((requests * MS_PER_SECOND) / durationMs)
  const times = [p50Ms, p99Ms, p999Ms].map((ms) => ms.toFixed(1))
  say(row([name, rate, ...times, cpuMicros.toFixed(1), busyCores.toFixed(2), failed, peakRssMib(server.pid)]))
}

async function run({ api, ids, redisUrl }: Started, folder: string): Promise<void> {
  const identity = { subject: '7', issuer: 'millrace', audience: 'millrace', lifetimeSeconds: TOKEN_SECONDS, now: Date.now() }
  const token = await mintToken(await ensureDevelopmentKey(folder), identity)
  const paths = ids.map(pathOf)
  const { byteLength } = await (await fetch(`${api.line.url}${paths[0]}`)).arrayBuffer()
  const constant = await startNode('bench/catalog/detail/constant.ts', [], {}, 'constant_started', [String(byteLength)])
  try {
    say(`A response has ${byteLength} bytes.`)
    say('| requests | requests/s | P50 ms | P99 ms | P99.9 ms | server CPU µs/request | busy cores | failed | server peak RSS MiB |')
    say('| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
    await measure({ name: `${paths.length} products`, server: api, paths }, folder)
    await measure(
      { name: `${paths.length} products, with a token`, server: api, paths, headers: { Authorization: `Bearer ${token}` } },
      folder,
    )
    const endChanges = changeStock(redisUrl, ids, changes)
    await measure({ name: `${paths.length} products, ${changes} changes of stock/s`, server: api, paths }, folder).finally(endChanges)
    await measure({ name: `${HOT_PRODUCTS} products`, server: api, paths: paths.slice(0, HOT_PRODUCTS) }, folder)
    await measure({ name: 'Hono, constant JSON of that size', server: constant, paths: ['/constant'] }, folder)
  } finally {
    await constant.stop()
  }
}

async function main(): Promise<void> {
  await requireWrk()
  say(`${describeMachine()}; in each row, ${connections} connections load one server process for ${seconds} s`)
  await withStarted(start, run)
}

await runMain(main)
