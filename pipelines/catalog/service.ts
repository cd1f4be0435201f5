import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { catalogTopology } from './documents/topology.ts'
import { imageSweep } from './images/sweep.ts'
import { inventory } from './inventory/topology.ts'
import { products } from './products/topology.ts'
import { reservations } from './reservations/topology.ts'
import { catalogSinks, indexSinks, inventorySinks, productSinks } from './sinks.ts'
import { skus } from './skus/topology.ts'

export const catalogServices: readonly PipelineService[] = [
  { name: 'catalog-products', role: 'deciding', settings: NO_SETTINGS, topologies: () => [products, skus], sinks: productSinks },
  {
    name: 'catalog-inventory',
    role: 'deciding',
    settings: NO_SETTINGS,
    topologies: () => [inventory, reservations],
    sinks: inventorySinks,
  },
  { name: 'catalog-index', role: 'bulk', settings: NO_SETTINGS, topologies: () => [], sinks: indexSinks, optionalServers: ['search'] },
  {
    name: 'catalog',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [catalogTopology],
    sinks: catalogSinks,
    jobs: (context) => [imageSweep(context)],
  },
]
