import { reviews } from '../../../schemas/catalog/documents/topics.ts'
import { productDecisions } from '../../../schemas/catalog/products/topics.ts'
import { readProduct } from '../../../state/views/catalog/products.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { catalogErrors } from '../errors.ts'
import type { CatalogPart } from '../part.ts'
import { postReviewRoute } from './routes.ts'

export type ReviewsDeps = Pick<ServiceKit, 'views' | 'facts' | 'commands' | 'now'>

/** Creates the route through which users rate products with stars. */
export function reviewsPart({ views, facts, commands, now }: ReviewsDeps): CatalogPart {
  return {
    routes: [
      bind(postReviewRoute, async (input) => {
        const { product_id } = input.params
        const { stars } = input.body
        // `commands.open` throws if a different request has used the same Idempotency-Key. A repeated request publishes
        // the review with the time of the first request, so that it does not replace a newer review.
        const open = await commands.open(input, ['reviewProduct', product_id, stars])
        const key = String(product_id)
        const product = await readProduct(views, facts.partitionOf(productDecisions, key), key)
        if (product === NOT_CAUGHT_UP) throw new ApiError(errors.not_ready)
        // A repeated request gets the same answer as the first request, even if the product has been removed since.
        const at = await open.once('at', () => {
          if (product?.status !== 'ACTIVE') throw new ApiError(catalogErrors.product_not_found)
          return now()
        })
        await facts.publish(reviews, key, { product_id, user_id: BigInt(input.caller!.subject), stars, at })
        return jsonAnswer(201, { product_id, stars, at: new Date(at).toISOString() }, PRIVATE)
      }),
    ],
  }
}
