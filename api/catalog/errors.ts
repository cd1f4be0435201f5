import { defineErrors } from '../kit/errors.ts'

export const catalogErrors = defineErrors({
  unknown_category: {
    status: 400,
    when: 'no category has this id or path',
    message: 'There is no such category.',
  },
  too_many_variants: {
    status: 400,
    when: 'a product would have more than 50 active variants, or more than 255 variants in total, including inactive ones',
    message: 'A product can have at most 50 active variants, and at most 255 variants in total, including inactive ones.',
  },
  invalid_image: {
    status: 400,
    when: 'an image is not a JPEG, PNG, WebP or AVIF file, is damaged, or has more than 50 megapixels; `upload` is the position of the file in the form, counted from 0',
    message: 'The image cannot be used. Send a JPEG, PNG, WebP or AVIF file of at most 50 megapixels.',
  },
  product_not_found: {
    status: 404,
    when: 'the product does not exist, is deleted, or is hidden from the caller',
    message: 'There is no such product.',
  },
  variant_not_found: {
    status: 404,
    when: 'the variant does not exist or is not for sale',
    message: 'The variant does not exist or is not for sale.',
  },
  reservation_not_found: {
    status: 404,
    when: 'no such reservation exists',
    message: 'There is no such reservation.',
  },
  sku_taken: {
    status: 409,
    when: 'a sku belongs to another variant; `sku` is this sku',
    message: 'A sku belongs to another variant.',
  },
  version_conflict: {
    status: 409,
    when: 'the product or stock has been changed since the given version; `version` is the current version',
    message: 'The version in the request is not the current version. Read the current version and try again.',
  },
  out_of_stock: {
    status: 409,
    when: 'fewer units are available than the request would reserve or remove; `available` is the number of available units',
    message: 'Fewer units are available than the request needs.',
  },
  reservation_ended: {
    status: 409,
    when: 'the cart has ended; or the named reservation is not open for this variant and warehouse, or has fewer units than the request would deduct or release; or, if the request names no reservation, all open reservations outside carts together have too few units',
    message: 'The reservation has ended.',
  },
  reservation_in_cart: {
    status: 409,
    when: 'the named reservation is a cart, which can be ended only as a whole',
    message: 'The reservation is a cart. End it with POST /api/v1/reservations/{reservation_id}/checkout or /release.',
  },
  reservation_extended: {
    status: 409,
    when: 'the reservation has already been extended once',
    message: 'The reservation has already been extended, and it can be extended only once.',
  },
  status_transition: {
    status: 409,
    when: 'the product cannot change from its current status, which `status` shows, to the requested status',
    message: 'The product cannot change from its current status to this status.',
  },
  price_period_overlaps: {
    status: 409,
    when: 'the period overlaps another price period of the variant; `starts_at` and `ends_at` are the bounds of that other period',
    message: 'This period overlaps another price period of the variant.',
  },
  price_out_of_range: {
    status: 422,
    when: 'a price is below half of the lowest price ever accepted for the variant, or above one and a half times the highest; the bounds `lowest` and `highest` themselves are allowed',
    message: 'The price is too far from the earlier prices of the variant.',
  },
})
