import type { ProductAnswer } from '../../../schemas/catalog/products/flow.ts'
import { MOST_PERIODS, MOST_PRODUCT_BYTES } from '../../../schemas/catalog/products/limits.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { catalogErrors } from '../errors.ts'
import { majorUnits } from '../money.ts'

/** Returns the product after a command, or throws the error that matches the refusal. */
export function decided(answer: ProductAnswer): StoredProduct {
  if (answer.outcome === 'done') return answer.product
  throw refusalOf(answer)
}

/** Returns the error for a request to change a public product of another seller, or to read it as its seller. */
export function ofAnotherSeller(): ApiError {
  return new ApiError(errors.forbidden, { message: 'This product belongs to another seller.' })
}

export function tooLarge(): ApiError {
  return new ApiError(errors.content_too_large, { message: `The product would have more than ${MOST_PRODUCT_BYTES} bytes.` })
}

function refusalOf(answer: Exclude<ProductAnswer, { outcome: 'done' }>): ApiError {
  switch (answer.outcome) {
    case 'not_found':
      return new ApiError(catalogErrors.product_not_found)
    case 'forbidden':
      return ofAnotherSeller()
    case 'variant_not_found':
      return new ApiError(catalogErrors.variant_not_found)
    case 'other_version':
      return new ApiError(catalogErrors.version_conflict, { fields: { version: answer.version } })
    case 'no_transition':
      return new ApiError(catalogErrors.status_transition, {
        message: `A product with the status ${answer.status} cannot change to the requested status.`,
        fields: { status: answer.status },
      })
    case 'price_out_of_range': {
      const { variant_id, sku, lowest_cents, highest_cents } = answer
      const fields = { variant_id, sku, lowest: majorUnits(lowest_cents), highest: majorUnits(highest_cents) }
      return new ApiError(catalogErrors.price_out_of_range, {
        message: `The price of the variant with the sku ${sku} must be from ${fields.lowest} to ${fields.highest}.`,
        fields,
      })
    }
    case 'period_overlaps': {
      const [starts_at, ends_at] = [answer.starts_at, answer.ends_at].map((at) => new Date(at).toISOString())
      return new ApiError(catalogErrors.price_period_overlaps, { fields: { starts_at, ends_at } })
    }
    case 'no_such_period':
      return new ApiError(errors.not_found, { message: 'The variant has no price for a period that begins at this time.' })
    case 'too_many_periods':
      return invalidRequest('body.starts_at', `the product already has ${MOST_PERIODS} periods`)
    case 'period_over':
      return invalidRequest('body.ends_at', 'must be after starts_at and after now')
    case 'too_many_variants':
      return new ApiError(catalogErrors.too_many_variants)
    case 'too_large':
      return tooLarge()
    // `productWriter` has already retried the command several times. A repetition with the same key would get the same
    // answers again.
    case 'taken':
    case 'unclaimed':
      return new ApiError(errors.unavailable, {
        message: 'The product could not be stored. Try again with a new Idempotency-Key.',
        needsNewKey: true,
      })
  }
}
