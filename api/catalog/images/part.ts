import { ApiError, errors } from '../../kit/errors.ts'
import { etagOf } from '../../kit/etag.ts'
import { bind } from '../../kit/route.ts'
import type { CatalogPart } from '../part.ts'
import { widthOfFile } from './address.ts'
import type { Images } from './images.ts'
import { imageRoute } from './routes.ts'

const FOR_EVER = { 'Content-Type': 'image/webp', 'Cache-Control': 'public, max-age=31536000, immutable' } as const

/** Creates the route that serves the images of products. */
export function imagesPart(images: Pick<Images, 'smaller'>): CatalogPart {
  return {
    routes: [
      bind(imageRoute, async ({ params: { content_hash, file } }) => {
        const bytes = await images.smaller(content_hash, widthOfFile(file))
        if (bytes === undefined) throw new ApiError(errors.not_found)
        return { status: 200, headers: { ...FOR_EVER, ETag: etagOf(`${content_hash}/${file}`) }, body: bytes }
      }),
    ],
  }
}
