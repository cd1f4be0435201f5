import { sellers } from '../../../schemas/catalog/documents/topics.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import type { Facts } from '../../kit/facts.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { CatalogPart } from '../part.ts'
import { putSellerRoute } from './routes.ts'

/** Creates the route that stores a seller's public name and rating. */
export function sellersPart({ facts }: { readonly facts: Pick<Facts, 'publish'> }): CatalogPart {
  return {
    routes: [
      bind(putSellerRoute, async ({ params: { seller_id }, body: { name, rating = null, rating_count } }) => {
        await facts.publish(sellers, seller_id, { seller_id: BigInt(seller_id), name, rating, rating_count })
        return jsonAnswer(200, { seller_id, name, rating, rating_count }, PRIVATE)
      }),
    ],
  }
}
