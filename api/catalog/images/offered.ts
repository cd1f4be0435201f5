import { z } from '@hono/zod-openapi'
import { imageIdOf } from '../../../schemas/catalog/products/image-id.ts'
import { MOST_IMAGES, MOST_SKU } from '../../../schemas/catalog/products/limits.ts'
import type { CatalogImage, CatalogOfferedImage, CatalogVariant } from '../../../schemas/catalog/types.ts'
import { invalidRequest } from '../../kit/errors.ts'
import { text } from '../text.ts'
import type { StoredImage } from './images.ts'

const MOST_ALT_TEXT = 300
/** Maximum position of an image: docs/services/catalog.md#images */
const MOST_POSITION = 2 ** 15 - 1

const OfferedImage = z
  .strictObject({
    image_id: z.int().min(1).optional().openapi({ description: 'An image that the product already has.' }),
    upload: z
      .int()
      .min(0)
      .max(MOST_IMAGES - 1)
      .optional()
      .openapi({ description: 'The position of a file in the form, counted from 0.' }),
    position: z
      .int()
      .min(0)
      .max(MOST_POSITION)
      .optional()
      .openapi({ description: 'The position in the display order. Default: the position in this list, counted from 0.' }),
    alt_text: text(MOST_ALT_TEXT, 0, 'What the image shows.').nullish(),
    sku: text(
      MOST_SKU,
      0,
      'The sku of the variant that the image shows; null if it shows all variants. Default: unchanged for an image that the product already has, otherwise null.',
    ).nullish(),
  })
  .refine(({ image_id, upload }) => (image_id === undefined) !== (upload === undefined), 'must have either image_id or upload')
  .openapi('OfferedImage')

/** Schema of the field `images` in a product that a seller sends. */
export const offeredImageList = z.array(OfferedImage).max(MOST_IMAGES).openapi({
  description:
    'The images, in display order unless they have positions. If a replacement has neither this field nor files, the product keeps its images.',
})

export type OfferedImageList = z.output<typeof offeredImageList>

/** The images and variants of the product before the request. */
export interface PresentImages {
  readonly product_id: number
  readonly images: readonly CatalogImage[]
  readonly variants: readonly Pick<CatalogVariant, 'variant_id' | 'sku'>[]
}

export interface AskedImages {
  /** The field `images`; undefined if it is missing. */
  readonly list: OfferedImageList | undefined
  readonly uploads: readonly StoredImage[]
  /** The skus that the product will have. */
  readonly skus: readonly string[]
  /** Path of the product in the request, for errors. */
  readonly place: string
}

/**
 * Returns the images that a product should have, in display order. Null means that the product keeps its current
 * images. If the form has files but no list, the files replace all images. Throws ApiError `invalid_request`.
 */
export function offeredImages({ list, uploads, skus, place }: AskedImages, present: PresentImages): CatalogOfferedImage[] | null {
  if (list === undefined)
    return uploads.length === 0 ? null : unique(uploads.map((upload) => offered(upload, present.product_id, null, null)))
  const used = new Set(list.map(({ upload }) => upload))
  const unused = uploads.findIndex((_upload, index) => !used.has(index))
  if (unused >= 0) throw invalidRequest(`${place}.images`, `does not mention file ${unused} of the form, counted from 0`)
  const faultAt = (index: number, field: string, message: string) => invalidRequest(`${place}.images[${index}].${field}`, message)
  const placeOf = (index: number) => list[index].position ?? index
  const inOrder = [...list.keys()].sort((one, other) => placeOf(one) - placeOf(other))
  const images = list.map(({ image_id, upload, alt_text, sku }, index) => {
    if (sku !== undefined && sku !== null && !skus.includes(sku)) throw faultAt(index, 'sku', 'is not the sku of a variant')
    if (upload !== undefined) {
      if (upload >= uploads.length) throw faultAt(index, 'upload', 'does not name a file of the form')
      return offered(uploads[upload], present.product_id, alt_text ?? null, sku ?? null)
    }
    const known = present.images.find((image) => image.image_id === image_id)
    if (known === undefined) throw faultAt(index, 'image_id', 'is not an image of the product')
    const { content_hash, content_type, width, height } = known
    const knownSku = present.variants.find(({ variant_id }) => variant_id === known.variant_id)?.sku ?? null
    return {
      image_id: known.image_id,
      sku: sku === undefined ? knownSku : sku,
      alt_text: alt_text === undefined ? known.alt_text : alt_text,
      ...{ content_hash, content_type, width, height },
    }
  })
  for (const [index, { image_id, sku }] of images.entries()) {
    const other = images.findIndex((one) => one.image_id === image_id && one.sku !== null && sku !== null && one.sku !== sku)
    // Without this check, the second entry would be dropped without an error.
    if (other >= 0 && other < index)
      throw faultAt(index, 'sku', `differs from that of ${place}.images[${other}], which is the same picture`)
  }
  return unique(inOrder.map((index) => images[index]))
}

function offered(stored: StoredImage, productId: number, alt_text: string | null, sku: string | null): CatalogOfferedImage {
  return { image_id: imageIdOf(productId, stored.content_hash), sku, alt_text, ...stored }
}

/**
 * Removes duplicates. Files with the same content have the same image_id, because the id is derived from the content.
 */
function unique(images: readonly CatalogOfferedImage[]): CatalogOfferedImage[] {
  return images.filter((image, index) => images.findIndex(({ image_id }) => image_id === image.image_id) === index)
}
