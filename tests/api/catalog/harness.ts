import * as categoryRoutes from '../../../api/catalog/categories/routes.ts'
import * as detailRoutes from '../../../api/catalog/detail/routes.ts'
import { catalogErrors } from '../../../api/catalog/errors.ts'
import * as imageRoutes from '../../../api/catalog/images/routes.ts'
import * as inventoryRoutes from '../../../api/catalog/inventory/routes.ts'
import * as productRoutes from '../../../api/catalog/products/routes.ts'
import * as rebuildRoutes from '../../../api/catalog/rebuilds/routes.ts'
import * as reservationRoutes from '../../../api/catalog/reservations/routes.ts'
import * as reviewRoutes from '../../../api/catalog/reviews/routes.ts'
import * as searchRoutes from '../../../api/catalog/search/routes.ts'
import * as sellerRoutes from '../../../api/catalog/sellers/routes.ts'
import * as shopRoutes from '../../../api/catalog/shop/routes.ts'
import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { bind } from '../../../api/kit/route.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { testApp } from '../kit/harness.ts'

/** The exported route definitions, one entry for each file. */
// biome-ignore format: one line per file
const DEFINITIONS: readonly Readonly<Record<string, unknown>>[] = [
  productRoutes,
  categoryRoutes,
  sellerRoutes,
  reviewRoutes,
  detailRoutes,
  imageRoutes,
  inventoryRoutes,
  searchRoutes,
  shopRoutes,
  reservationRoutes,
  rebuildRoutes,
]

/** Builds the catalogue's API only for its OpenAPI document and error codes. Its handlers never run. */
export async function catalogApi() {
  const routes = DEFINITIONS.flatMap((file) => Object.values(file)).map((definition) =>
    bind(definition as Parameters<typeof bind>[0], () => {
      throw new Error('not called')
    }),
  )
  const fields = { name: 'catalog', description: '', isUserId: isDecimalUserId, probes: [] }
  const service: ServiceRoutes = { ...fields, routes, errors: Object.values(catalogErrors) }
  return { ...(await testApp({ services: [service] })), service }
}
