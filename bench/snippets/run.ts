import { mkdtempSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { waitUntil } from '../../deploy/local/wait.ts'
import { startServers } from '../trends/servers.ts'
import { seededRandom } from '../tweets/random.ts'
import { httpClient } from './client.ts'
import { contents } from './contents.ts'
import { type Paced, paced, quantile } from './pace.ts'

/**
 * Snippets through the whole path at the specification's average rates, sizes from a distribution with a long tail: creations and reads at
 * once, beside the limits in the same run: a durable file of the same size, and the smallest answer of the same API.
 */
const SEED = 7
/** 5M creations and 50M reads a day. */
const CREATIONS_PER_SECOND = 58
const READS_PER_SECOND = 580
const FIRST_SNIPPETS = 300
const READY = { timeoutMs: 120_000, intervalMs: 100 }
const LARGE_BYTES = 10_485_760
const LARGE_AT_ONCE = 8
const WATCH_EVERY_MS = 50
const MIB = 1_048_576
const CPU_SECONDS = 'process_cpu_seconds_total'
const MS_PER_SECOND = 1_000

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '30' }, times: { type: 'string', default: '1' } } })
const seconds = Number(values.seconds)
/** Of the average rates. */
const times = Number(values.times)
const creationsPerSecond = Math.round(CREATIONS_PER_SECOND * times)
const readsPerSecond = Math.round(READS_PER_SECOND * times)
const random = seededRandom(SEED)
const print = (line: string) => process.stdout.write(`${line}\n`)
let addresses = 0
/** Each from an address of its own, below every rate limit. */
const from = () => ({ 'x-forwarded-for': `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses++ & 255}` })

/** The least that a durable creation can cost. */
async function durableFile(folder: string, content: Uint8Array): Promise<void> {
  const path = join(folder, `${addresses++}`)
  const file = await open(`${path}.new`, 'w')
  await file.writeFile(content)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
}

async function residentBytes(url: string): Promise<number> {
  // Making them takes the API some ten milliseconds.
  await delay(WATCH_EVERY_MS)
  return await metric(url, 'process_resident_memory_bytes')
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
}

function row(what: string, { latencies, failures }: Paced): string {
  const cells = [0.5, 0.99, 0.999].map((share) => quantile(latencies, share).toFixed(1))
  const failed = [...failures].map(([message, count]) => `${count} × ${message}`).join('; ')
  return `| ${what} | ${latencies.length} | ${cells.join(' | ')} | ${failed || 0} |`
}

async function measure(url: string, folder: string): Promise<void> {
  const next = contents(random)
  const ids: string[] = []
  const client = httpClient(url)

  async function create(content: Uint8Array): Promise<string> {
    const { head } = await client.post('/api/v1/pastes', content, { 'content-type': 'text/plain', ...from() })
    return (JSON.parse(head) as { paste_id: string }).paste_id
  }

  for (let index = 0; index < FIRST_SNIPPETS; index++) ids.push(await create(next()))
  const some = () => ids[Math.floor(random() * ids.length)]
  const read = async () => void (await client.get(`/api/v1/pastes/${some()}`, from()))
  // Made before: making ten megabytes takes this process as long as sending them.
  const ready = Array.from({ length: creationsPerSecond * seconds }, next)
  print(`| ${seconds} s | answers | P50 ms | P99 ms | P99.9 ms | failed |\n|---|---:|---:|---:|---:|---:|`)
  print(row('a durable file of the same size, alone', await paced(creationsPerSecond, seconds / 3, () => durableFile(folder, next()))))
  print(row('/livez, alone', await paced(readsPerSecond, seconds / 3, async () => void (await client.get('/livez')))))
  const cpuBefore = await metric(url, CPU_SECONDS)
  const [writes, reads] = await Promise.all([
    paced(creationsPerSecond, seconds, async () => void ids.push(await create(ready.pop()!))),
    paced(readsPerSecond, seconds, read),
  ])
  print(row(`create, ${creationsPerSecond}/s, while`, writes))
  print(row(`read, ${readsPerSecond}/s`, reads))
  const requests = writes.latencies.length + reads.latencies.length
  const cpuMs = (((await metric(url, CPU_SECONDS)) - cpuBefore) / requests) * MS_PER_SECOND
  print(`\nThe API took ${cpuMs.toFixed(2)} ms of CPU per request.`)

  const before = await residentBytes(url)
  const large = Buffer.alloc(LARGE_BYTES, 'ten megabytes of text, ')
  let most = before
  let isWatching = true
  const watch = (async () => {
    while (isWatching) most = Math.max(most, await residentBytes(url))
  })()
  const made = await Promise.all(
    Array.from({ length: LARGE_AT_ONCE }, (_, index) => create(Buffer.concat([Buffer.from(`${index}`), large.subarray(2)]))),
  )
  await Promise.all(made.map(async (id) => client.get(`/api/v1/pastes/${id}`, from())))
  isWatching = false
  await watch
  client.close()
  const each = (most - before) / LARGE_AT_ONCE / MIB
  print(
    `\n${LARGE_AT_ONCE} × 10 MiB created at once, then read at once: resident ${(before / MIB).toFixed(0)} → at most ${(most / MIB).toFixed(0)} MiB, ${each.toFixed(1)} MiB each`,
  )
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const servers = await startServers(folder, 'snippets')
try {
  await servers.startWorkers('snippets,snippet-views')
  const api = await servers.startApi()
  const url = `http://${api.address.replace(/^https?:\/\//, '')}`
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { what: 'the API', ...READY })
  await measure(url, folder)
} finally {
  await servers.stop()
  rmSync(folder, { recursive: true, force: true })
}
