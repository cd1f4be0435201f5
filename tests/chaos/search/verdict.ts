import { catalogDocuments } from '../../../schemas/catalog/documents/topics.ts'
import { indexRebuilds } from '../../../schemas/catalog/rebuilds/topics.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { PRODUCTS_INDEX } from '../../../state/indexes/catalog/products.ts'
import { indexReader, NOT_COMPLETE } from '../../../state/indexes/reader.ts'
import { openLogs } from '../open-logs.ts'
import type { SearchSystem } from './system.ts'

const MOST_HITS = 10_000

/**
 * Returns the differences between the index and the newest record of each key in the log, and the requested rebuilds
 * that are not complete.
 */
export async function differences(system: SearchSystem, requested: readonly string[]): Promise<string[]> {
  const logs = await openLogs(system.env, [catalogDocuments, indexRebuilds])
  try {
    await logs.catchUp()
    const states = new Map(
      logs
        .of(indexRebuilds)
        .flat()
        .map(({ key, value }) => [key, value?.state]),
    )
    const open = requested.filter((id) => states.get(id) !== 'complete').map((id) => `rebuild ${id} is ${states.get(id) ?? 'missing'}`)
    return [
      ...open,
      ...(await indexDifferences(
        system,
        new Map(
          logs
            .of(catalogDocuments)
            .flat()
            .map(({ key, value }) => [key, value]),
        ),
      )),
    ]
  } finally {
    await logs.close()
  }
}

async function indexDifferences({ client }: SearchSystem, latest: ReadonlyMap<string, CatalogDocument | null>): Promise<string[]> {
  const answer = await indexReader(client).search(PRODUCTS_INDEX, { query: { exists: { field: 'product_id' } }, size: MOST_HITS })
  if (answer === NOT_COMPLETE) return ['the index is not complete']
  const hits = answer.hits.hits as { _id: string; _source: { is_public: boolean; title?: string; price_cents?: number } }[]
  const found = new Map(hits.map(({ _id, _source }) => [_id, _source]))
  const wrong = [...latest].filter(([key, document]) => {
    const seen = found.get(key)
    if (document === null || seen === undefined) return document !== seen
    if (seen.is_public !== document.is_public) return true
    return document.is_public && (seen.title !== document.title || seen.price_cents !== document.price_cents)
  })
  const strangers = [...found.keys()].filter((key) => !latest.has(key))
  return [...wrong.map(([key]) => `product ${key} differs from the log`), ...strangers.map((key) => `product ${key} is not in the log`)]
}
