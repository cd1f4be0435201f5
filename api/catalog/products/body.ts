import type { z } from '@hono/zod-openapi'
import { assertJsonType, parseJsonBody } from '../../kit/body.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { assertValid, check } from '../../kit/input.ts'
import type { ArrivingBody } from '../../kit/route.ts'
import { assertCleanText } from '../../kit/text.ts'
import type { Images, StoredImage } from '../images/images.ts'
import type { FormPlaces } from '../images/places.ts'
import { isForm, readProductForm } from '../images/product-form.ts'

/** A product that a seller sends, as JSON or as a form with images. */
export interface ProductBody<T> {
  readonly body: T
  /** The files of the form. They are already stored. */
  readonly uploads: readonly StoredImage[]
}

export interface ReadingBody {
  /** The subject of the token. */
  readonly caller: string
  readonly images: Pick<Images, 'keep'>
  readonly places: FormPlaces
}

const MOST_JSON_BYTES = 1_048_576
const NEITHER = 'Send the product as application/json in UTF-8, or together with images as multipart/form-data.'

/**
 * Reads and validates a product, from a JSON body or a form.
 * Throws ApiError: `invalid_request`, `unsupported_media_type`, `content_too_large`, `invalid_encoding`,
 * `invalid_image`, `request_timeout`, `unavailable`.
 */
export async function readProductBody<S extends z.ZodType>(
  arriving: ArrivingBody,
  schema: S,
  { caller, images, places }: ReadingBody,
): Promise<ProductBody<z.output<S>>> {
  const { product, uploads } = isForm(arriving.contentType)
    ? await places.read(caller, () => readProductForm(arriving, images, places.waiting))
    : { product: await readJson(arriving), uploads: [] }
  const checked = check(schema, product, 'body')
  assertValid(checked)
  return { body: checked.value as z.output<S>, uploads }
}

async function readJson({ contentType, pieces }: ArrivingBody): Promise<unknown> {
  assertJsonType(contentType ?? null, NEITHER)
  const held: Uint8Array[] = []
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.byteLength
    if (bytes > MOST_JSON_BYTES)
      throw new ApiError(errors.content_too_large, { message: `The body is larger than ${MOST_JSON_BYTES} bytes.` })
    held.push(piece)
  }
  const value = parseJsonBody(Buffer.concat(held))
  assertCleanText(value)
  return value
}
