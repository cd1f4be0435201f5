import { defineErrors } from '../kit/errors.ts'

/** Errors of the product catalogue. */
export const catalogErrors = defineErrors({
  unknown_category: {
    status: 400,
    when: 'no category has this id or path',
    message: 'There is no such category.',
  },
  too_many_variants: {
    status: 400,
    when: 'a product would have more than 50 active variants, or more than 255 in its whole life',
    message: 'A product has at most 50 active variants, and 255 in its whole life.',
  },
  invalid_image: {
    status: 400,
    when: 'an image is not a JPEG, PNG, WebP or AVIF file, is damaged, or has more than 50 megapixels',
    message: 'The image cannot be used. Send a JPEG, PNG, WebP or AVIF file of at most 50 megapixels.',
  },
  product_not_found: {
    status: 404,
    when: 'no such product exists, it is deleted, or the caller may not see it',
    message: 'There is no such product.',
  },
  variant_not_found: {
    status: 404,
    when: 'no such variant exists, or it is not for sale',
    message: 'There is no such variant.',
  },
  reservation_not_found: {
    status: 404,
    when: 'no such reservation exists',
    message: 'There is no such reservation.',
  },
  sku_taken: {
    status: 409,
    when: 'a sku belongs to another variant; `sku` names it',
    message: 'A sku belongs to another variant.',
  },
  version_conflict: {
    status: 409,
    when: 'the product or stock has been changed since the given version; the body shows the current state',
    message: 'This is not the current version. Read the current one and try again.',
  },
  out_of_stock: {
    status: 409,
    when: 'fewer units are available than the request would reserve or remove; `available` is their number',
    message: 'Fewer units are available.',
  },
  reservation_ended: {
    status: 409,
    when: 'the reservation has ended, or the request wants to deduct or release more units than are reserved',
    message: 'The reservation has ended.',
  },
  reservation_in_cart: {
    status: 409,
    when: 'the reservation belongs to a cart and ends only with it',
    message: 'The reservation belongs to a cart. Check out or release the cart.',
  },
  reservation_extended: {
    status: 409,
    when: 'the reservation has been extended before',
    message: 'A reservation can be extended once.',
  },
  status_transition: {
    status: 409,
    when: 'the product cannot change from its current status, which `status` shows, to the requested status',
    message: 'The product cannot change from its current status to this status.',
  },
  price_period_overlaps: {
    status: 409,
    when: 'the variant has another price for a part of the period; `starts_at` and `ends_at` name that period',
    message: 'The variant has another price for a part of this period.',
  },
  price_out_of_range: {
    status: 422,
    when: 'a price is below half of the lowest or above one and a half times the highest price that the variant ever had; `lowest` and `highest` are the bounds',
    message: 'The price is too far from the earlier prices of the variant.',
  },
})
