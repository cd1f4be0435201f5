import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { catalogDocuments } from '../../../schemas/catalog/documents/topics.ts'
import { indexRebuild } from '../../../schemas/catalog/rebuilds/topics.ts'
import { PRODUCTS_INDEX } from '../../../state/indexes/catalog/products.ts'
import type { Random } from '../../../tools/random/random.ts'
import { topicProducer } from '../../../tools/topic-producer.ts'
import { drawChange } from './products.ts'
import type { SearchSystem } from './system.ts'

const PAUSE_MS = 20

/** Opens a writer. From `begin` until `stop`, it changes products all the time. */
export async function openWriter({ transport, registry }: SearchSystem, random: Random) {
  const documents = await topicProducer(catalogDocuments)(transport, registry)
  const rebuilds = await topicProducer(indexRebuild)(transport, registry)
  const requested: string[] = []
  let isStopped = false
  let running = Promise.resolve()
  let revision = 10

  async function writeAll(): Promise<void> {
    while (!isStopped) {
      const change = drawChange(random, revision++)
      documents.send(String(change.product_id), change, Date.now())
      await documents.flush()
      await delay(PAUSE_MS)
    }
  }

  return {
    requested,
    begin() {
      running = writeAll()
    },
    async requestRebuild() {
      const rebuild_id = randomUUID()
      rebuilds.send(PRODUCTS_INDEX, { rebuild_id, requested_by: 'chaos', requested_at: Date.now() }, Date.now())
      await rebuilds.flush()
      requested.push(rebuild_id)
    },
    async stop() {
      isStopped = true
      await running
    },
    async close() {
      await documents.close()
      await rebuilds.close()
    },
  }
}
