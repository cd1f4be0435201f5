import { z } from '@hono/zod-openapi'

export const imageAddress = z
  .url()
  .openapi({ example: 'http://localhost:8080/api/v1/images/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824/600.webp' })

/** A product image as the API shows it. */
export const imageSchema = z
  .object({
    image_id: z.int(),
    variant_id: z.int().nullable().openapi({ description: 'Null if the image shows all variants.' }),
    position: z.int(),
    alt_text: z.string().nullable(),
    width: z.int().openapi({ description: 'Width of the original, in pixels.' }),
    height: z.int(),
    urls: z
      .record(z.string(), imageAddress)
      .openapi({ description: 'Addresses of the image, keyed by width in pixels: 150, 300, 600 and 1200.' }),
  })
  .openapi('ProductImage')
