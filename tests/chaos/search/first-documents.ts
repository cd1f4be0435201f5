import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { catalogDocuments } from '../../../schemas/catalog/documents/topics.ts'
import { topicProducer } from '../../../tools/topic-producer.ts'
import { firstDocuments } from './products.ts'

/** Writes the records that must be in the log before the first search. */
export async function writeFirstDocuments(transport: Transport, registry: SchemaRegistry): Promise<void> {
  const documents = await topicProducer(catalogDocuments)(transport, registry)
  for (const first of firstDocuments()) documents.send(String(first.product_id), first, Date.now())
  await documents.flush()
  await documents.close()
}
