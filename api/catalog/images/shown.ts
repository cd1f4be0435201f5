import type { z } from '@hono/zod-openapi'
import type { CatalogImage } from '../../../schemas/catalog/types.ts'
import { IMAGE_WIDTHS, imageUrl } from './address.ts'
import type { imageSchema } from './model.ts'

export function inDisplayOrder(images: readonly CatalogImage[]): CatalogImage[] {
  return images.toSorted((a, b) => a.position - b.position || a.image_id - b.image_id)
}

/**
 * Converts stored images to the form that the API shows.
 * @param publicUrl base URL of the images' addresses
 */
export function shownImages(images: readonly CatalogImage[], publicUrl: string): z.output<typeof imageSchema>[] {
  return images.map(({ image_id, variant_id, position, alt_text, content_hash, width, height }) => {
    const urls = Object.fromEntries(IMAGE_WIDTHS.map((pixels) => [pixels, imageUrl(publicUrl, content_hash, pixels)]))
    return { image_id, variant_id, position, alt_text, width, height, urls }
  })
}
