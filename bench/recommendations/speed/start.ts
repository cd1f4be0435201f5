import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { registryClient } from '../../../kafka/registry.ts'
import { itemStats } from '../../../schemas/recommendations/topics.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { benchTransport } from '../../harness/broker.ts'
import { profileTo, startApiProcess } from '../../harness/node-process.ts'
import { anonymousMib, cpuSeconds } from '../../harness/process-stats.ts'
import { type BenchServers, startServers, WITHOUT_CLICKHOUSE } from '../../harness/servers.ts'
import { row } from '../../harness/table.ts'
import { loadRemark, middleOf } from '../../matches/rounds.ts'
import { sendAll } from '../../matches/seed.ts'
import { itemIdOf } from './bundle.ts'
import { statsOf } from './items.ts'
import type { PartInput } from './part.ts'
import { seedItems } from './seed.ts'

const SEED = 81
const TIMEOUT_MS = 1_200_000
const POLL_MS = 100
const MS_PER_SECOND = 1_000
const BYTES_PER_MIB = 2 ** 20
const MEMORY = {
  'own memory, MiB': (_metrics: string, pid: number) => anonymousMib(pid),
  'V8 heap in use, MiB': (metrics: string) => mibOf(metrics, 'nodejs_heap_size_used_bytes'),
  'total V8 heap, MiB': (metrics: string) => mibOf(metrics, 'nodejs_heap_size_total_bytes'),
  'buffers, MiB': (metrics: string) => mibOf(metrics, 'nodejs_external_memory_bytes'),
}

/**
 * Measures how long an API process takes until it is ready, and how much memory it uses at that time. All items have
 * statistics, and there is no model. Each round starts the smallest API, then the API of recommendations without a
 * snapshot of the items, and then the same API with a snapshot.
 */
export async function measureStart({ world, values, folder: parent, say }: Omit<PartInput, 'bundle'>): Promise<void> {
  const folder = join(parent, `start-${values.items}`)
  const seeded = join(folder, 'seeded')
  const snapshot = join(folder, 'data', 'tables', 'recommendation-items.snapshot')
  const isSeeded = existsSync(seeded)
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  try {
    if (!isSeeded) await seed(servers, world)
    writeFileSync(seeded, '')
    const found: Record<string, Record<string, number>[]> = { 'smallest API': [], 'without a snapshot': [], 'with a snapshot': [] }
    for (let round = 0; round < values.rounds; round++) {
      found['smallest API'].push(await started(servers, 'limits', undefined))
      rmSync(snapshot, { force: true })
      found['without a snapshot'].push(await started(servers, 'recommendations', values.prof, () => existsSync(snapshot)))
      found['with a snapshot'].push(await started(servers, 'recommendations', values.prof))
    }
    say(`\n### Starts of an API process with ${values.items} items, all with statistics, without a model; ${loadRemark()}\n`)
    say(row(['medians (range)', ...Object.keys(found)]))
    say(row(['---', '--:', '--:', '--:']))
    for (const what of Object.keys(found['smallest API'][0]))
      say(row([what, ...Object.values(found).map((rounds) => middleOf(rounds.map((one) => one[what])))]))
  } finally {
    await servers.stop()
  }
}

async function seed(servers: BenchServers, world: PartInput['world']): Promise<void> {
  const transport = benchTransport(servers.addresses.kafka)
  await transport.connect()
  try {
    const target = { transport, registry: registryClient({ url: servers.addresses.registry }) }
    const random = seededRandom(SEED)
    const now = Date.now()
    await seedItems(target, world)
    const rows = Array.from({ length: world.items }, (_, item) => item)
    await sendAll(target, itemStats, rows, (item) => [itemIdOf(item), statsOf(random, now), now])
  } finally {
    await transport.close()
  }
}

/** Starts an API, measures it when it is ready, and stops it once `until` returns true. */
async function started(
  servers: BenchServers,
  services: string,
  prof: string | undefined,
  until = () => true,
): Promise<Record<string, number>> {
  const env = { ...servers.env, API_SERVICES: services, API_PORT: '0', OPERATIONS_PORT: '0', LOG_LEVEL: 'info' }
  const begun = performance.now()
  const api = await startApiProcess(profileTo(prof), env)
  try {
    const isReady = async () => (await fetch(`${api.line.url}/readyz`)).ok
    await waitUntil(isReady, { what: services, timeoutMs: TIMEOUT_MS, intervalMs: POLL_MS })
    const seconds = (performance.now() - begun) / MS_PER_SECOND
    const cpu = cpuSeconds(api.pid)
    const metrics = await (await fetch(`${api.line.operations_url}/metrics`)).text()
    const memory = Object.fromEntries(Object.entries(MEMORY).map(([what, of]) => [what, of(metrics, api.pid)]))
    await waitUntil(until, { what: 'the snapshot', timeoutMs: TIMEOUT_MS, intervalMs: POLL_MS })
    return { 's until ready': seconds, 'CPU s until ready': cpu, ...memory }
  } finally {
    await api.stop()
  }
}

function mibOf(metrics: string, name: string): number {
  const found = new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(metrics)
  return Number(found?.[1] ?? Number.NaN) / BYTES_PER_MIB
}
