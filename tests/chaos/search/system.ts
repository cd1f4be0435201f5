import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { registryClient } from '../../../kafka/registry.ts'
import { catalogServices } from '../../../pipelines/catalog/service.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { catalogSchemas } from '../../../schemas/catalog/topics.ts'
import { recommendationsSchemas } from '../../../schemas/recommendations/topics.ts'
import { searchClient } from '../../../state/indexes/client.ts'
import { supervisedWorker } from '../../api/supervised-worker.ts'
import { startWorkerProcess } from '../../api/worker-process.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRegistry, newSearch } from '../../stack/servers.ts'
import { noSmallDisk, smallDisk } from '../small-disk.ts'
import { writeFirstDocuments } from './first-documents.ts'

const WORKERS = 2
const READY = { timeoutMs: 120_000, intervalMs: 100 }
const KEEPER = 'catalog-index-keeper'

export type SearchSystem = Awaited<ReturnType<typeof searchSystem>>

/**
 * Starts a broker, a registry, a search server, and two workers that build the index and keep it up to date. If this
 * machine allows it, the search server is on a small disk.
 */
export async function searchSystem() {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const registry = await newRegistry(folder.path, kafka.address)
  const dataDir = join(folder.path, 'search', 'data')
  mkdirSync(dataDir, { recursive: true })
  const disk = noSmallDisk() === undefined ? await smallDisk(folder.path, dataDir) : undefined
  const search = await newSearch(folder.path, 'search', disk?.enter)
  await Promise.all([kafka.start(), search.start()])
  await registry.start()
  await provisionService(kafka.address, registry.address, [catalogSchemas, recommendationsSchemas], catalogServices)
  const env = {
    KAFKA_BROKERS: kafka.address,
    SCHEMA_REGISTRY_URL: registry.address,
    OPENSEARCH_URL: search.address,
    PIPELINES: 'catalog-index',
  }
  const runtime = systemRuntime(pino({ level: 'silent' }))
  const transport = kafkaTransport({ brokers: [kafka.address], clientId: 'chaos' }, { runtime })
  await transport.connect()
  const schemas = registryClient({ url: registry.address })
  // Writes these records only once per system, before the workers start. In a later round, they would make deleted
  // products visible again.
  await writeFirstDocuments(transport, schemas)
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, (_, slot) =>
      supervisedWorker(folder, () => startWorkerProcess(folder.path, { ...env, WORKER_SLOT: String(slot) })),
    ),
  )

  /** Returns the slot of the worker that builds indexes; undefined while no worker does. */
  async function builder(): Promise<number | undefined> {
    for (const [slot, { url }] of workers.entries()) {
      const answer = await fetch(`${url}/tasks`).catch(() => undefined)
      const runners = (await answer?.json().catch(() => undefined)) as unknown
      if (JSON.stringify(runners ?? '').includes(`"${KEEPER}"`) && ownsJob(runners)) return slot
    }
    return undefined
  }

  return {
    folder,
    kafka,
    search,
    disk,
    env,
    workers,
    transport,
    registry: schemas,
    client: searchClient(search.address),
    builder,
    untilReady: () =>
      waitUntil(async () => (await Promise.all(workers.map((worker) => worker.isReady()))).every(Boolean), { what: 'workers', ...READY }),
    async finish() {
      await transport.close()
      disk?.close()
      await folder.finish()
    },
  }
}

/** Returns whether the report of a worker says, at any depth, that the worker currently owns a job. */
function ownsJob(report: unknown): boolean {
  if (typeof report !== 'object' || report === null) return false
  if ((report as { owner?: boolean }).owner === true) return true
  return Object.values(report).some(ownsJob)
}
