/**
 * Measures snippets end to end at the average rates in docs/services/snippets.md#targets, with sizes from a long-tailed
 * distribution. Creations and reads run concurrently. They are compared with lower bounds from the same run: writing a
 * durable file of the same size, and the smallest response of the same API. The freshness of view counts is measured at
 * the same time. Finally, the benchmark measures the memory growth of the API under many concurrent contents of the
 * maximum size.
 */
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { withStarted } from '../harness/folder.ts'
import { untilReady } from '../harness/node-process.ts'
import { startServers } from '../harness/servers.ts'
import { quantile, row } from '../harness/table.ts'
import { httpClient } from './client.ts'
import { contents } from './contents.ts'
import { viewsFreshness } from './freshness.ts'
import { largeAtOnce } from './large.ts'
import { type Paced, paced } from './pace.ts'
import declaration from './run.command.ts'

const SEED = 7
/** Average rates for 5 million creations and 50 million reads per day. */
const CREATIONS_PER_SECOND = 58
const READS_PER_SECOND = 580
const FIRST_SNIPPETS = 300
const CPU_SECONDS = 'process_cpu_seconds_total'
const MS_PER_SECOND = 1_000

const { seconds, times } = commandLine(declaration)
const creationsPerSecond = Math.round(CREATIONS_PER_SECOND * times)
const readsPerSecond = Math.round(READS_PER_SECOND * times)
const random = seededRandom(SEED)
const print = (line: string) => process.stdout.write(`${line}\n`)
let addresses = 0
/** Returns headers with a new client address for each request, so that no client reaches a rate limit. */
const from = () => ({ 'x-forwarded-for': `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses++ & 255}` })

/** Writes a file and flushes it to the disk. A creation includes at least this work. */
async function durableFile(folder: string, content: Uint8Array): Promise<void> {
  const path = join(folder, `${addresses++}`)
  const file = await open(`${path}.new`, 'w')
  await file.writeFile(content)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
}

const inSeconds = (ms: number) => (ms / MS_PER_SECOND).toFixed(1)

function resultRow(what: string, { latencies, failures }: Paced): string {
  const cells = [0.5, 0.99, 0.999].map((share) => quantile(latencies, share).toFixed(1))
  const failed = [...failures].map(([message, count]) => `${count} × ${message}`).join('; ')
  return row([what, latencies.length, ...cells, failed || 0])
}

async function measure(url: string, operationsUrl: string, folder: string): Promise<void> {
  const next = contents(random)
  const ids: string[] = []
  const client = httpClient(url)

  async function create(content: readonly Uint8Array[]): Promise<string> {
    const { head } = await client.post('/api/v1/pastes', content, { 'content-type': 'text/plain', ...from() })
    return (JSON.parse(head) as { paste_id: string }).paste_id
  }

  for (let index = 0; index < FIRST_SNIPPETS; index++) ids.push(await create([next()]))
  const some = () => ids[Math.floor(random() * ids.length)]
  const read = async () => void (await client.get(`/api/v1/pastes/${some()}`, from()))
  // Contents are prepared in advance, because generating ten megabytes takes as long as sending them.
  const ready = Array.from({ length: creationsPerSecond * seconds }, next)
  print(`Creations and reads run concurrently for ${seconds} s. The lower bounds are measured beforehand, each for a third of this time.\n`)
  print(`|  | responses | P50 ms | P99 ms | P99.9 ms | failed |\n|---|---:|---:|---:|---:|---:|`)
  print(
    resultRow(
      'a durable file of the same size, without other load',
      await paced(creationsPerSecond, seconds / 3, () => durableFile(folder, next())),
    ),
  )
  print(resultRow('/livez, without other load', await paced(readsPerSecond, seconds / 3, async () => void (await client.get('/livez')))))
  const cpuBefore = await metric(operationsUrl, CPU_SECONDS)
  const [writes, reads, views] = await Promise.all([
    paced(creationsPerSecond, seconds, async () => void ids.push(await create([ready.pop()!]))),
    paced(readsPerSecond, seconds, read),
    viewsFreshness({ client, create: () => create([Buffer.from(`${random()}`)]), from, seconds }),
  ])
  print(resultRow(`create, ${creationsPerSecond}/s, with concurrent reads`, writes))
  print(resultRow(`read, ${readsPerSecond}/s, with concurrent creations`, reads))
  const requests = writes.latencies.length + reads.latencies.length
  const cpuMs = (((await metric(operationsUrl, CPU_SECONDS)) - cpuBefore) / requests) * MS_PER_SECOND
  print(`\nThe API used ${cpuMs.toFixed(2)} ms of CPU per request.`)

  print(
    `Time from a read until it is counted as a view, ${views.length} samples: P50 ${inSeconds(quantile(views, 0.5))} s, maximum ${inSeconds(quantile(views, 1))} s (target: 60 s).`,
  )
  await largeAtOnce({ client, create, residentBytes: () => metric(operationsUrl, 'process_resident_memory_bytes'), from, print })
  client.close()
}

async function main(): Promise<void> {
  await withStarted(
    (folder) => startServers(folder, { apiServices: 'snippets' }),
    async (servers, folder) => {
      await servers.startWorkers('snippets,snippet-views')
      const api = await servers.startApi()
      const url = `http://${api.address.replace(/^https?:\/\//, '')}`
      await untilReady(url)
      await measure(url, servers.operationsUrl, folder)
    },
  )
}

await runMain(main)
