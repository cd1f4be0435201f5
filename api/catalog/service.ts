import { catalogSchemas } from '../../schemas/catalog/topics.ts'
import { itemNeighbours, items } from '../../schemas/recommendations/topics.ts'
import type { ApiService } from '../service.ts'
import { type CatalogSettings, catalogSettings } from './settings.ts'

/** Serves the product catalogue: products, prices, stock and search. */
export const catalogService: ApiService<CatalogSettings> = {
  name: 'catalog',
  settings: catalogSettings,
  topics: [...catalogSchemas.topics, itemNeighbours, items],
  optionalServers: ['search'],
  limitedPaths: ['/api/v1/*', '/shop'],
  examples: (api) => [
    { what: 'products', command: `curl -s '${api}/api/v1/products/search?q=drill'` },
    {
      what: 'products of a demo seller',
      command: `curl -s -H "Authorization: Bearer $(npm run --silent token -- --sub 7001 --scope seller)" ${api}/api/v1/seller/products`,
    },
  ],
  async open(kit, settings) {
    const { catalogHandlers } = await import('./handlers.ts')
    return catalogHandlers({ ...kit, ...settings })
  },
}
