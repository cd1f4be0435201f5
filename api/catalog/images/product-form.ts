import { MOST_IMAGES } from '../../../schemas/catalog/products/limits.ts'
import { parseJsonBody } from '../../kit/body.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { boundaryOf, type FormPart, readMultipart } from '../../kit/multipart.ts'
import type { ArrivingBody } from '../../kit/route.ts'
import { assertCleanText } from '../../kit/text.ts'
import { catalogErrors } from '../errors.ts'
import type { Images, StoredImage } from './images.ts'
import type { FormPlaces } from './places.ts'

/** A form with a product and its images. */
export interface ProductForm {
  /** The parsed JSON of the part `product`. It has not been validated. */
  readonly product: unknown
  /** The files of the parts `images`, in the order of the form. They are already stored. */
  readonly uploads: readonly StoredImage[]
}

const MIB = 1_048_576
/** Maximum size of the whole body of a form. */
export const MOST_FORM_BYTES = 64 * MIB
const MOST_IMAGE_BYTES = 10_000_000
const MOST_PRODUCT_BYTES = MIB
/**
 * Limit of the total size, over all forms, of the files that have arrived but are not stored yet. Checking twenty large
 * AVIF photos takes longer than a body may take to arrive, so the process receives the next files of a form while it
 * checks a file. Above this limit, which is the size of two forms, each form waits until its own files are stored.
 */
const MOST_WAITING_BYTES = 2 * MOST_FORM_BYTES
/**
 * Maximum number of parts: the product, its images, and one extra part. Because of the extra part, a form with one
 * image too many gets an error that names the field `images`.
 */
const MOST_PARTS = MOST_IMAGES + 2
const PRODUCT = 'product'
const IMAGES = 'images'

export function isForm(contentType: string | undefined): contentType is string {
  return /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')
}

/**
 * Reads a form as it arrives, and checks and stores its files one after another. If a part is invalid, the images that
 * are already stored remain until a sweep deletes them. Throws ApiError: `invalid_image`, `content_too_large`,
 * `invalid_request`, `invalid_encoding`, `unavailable`.
 * @param waiting see `FormPlaces`
 */
export async function readProductForm(
  { contentType, pieces }: ArrivingBody,
  images: Pick<Images, 'keep'>,
  waiting: FormPlaces['waiting'],
): Promise<ProductForm> {
  const uploads: StoredImage[] = []
  let files = 0
  /** Resolves when all files that have arrived so far are stored. */
  let storing: Promise<void> = Promise.resolve()
  let fault: unknown
  let product: Buffer | undefined
  let current: { readonly name: string; readonly pieces: Uint8Array[]; bytes: number } | undefined

  async function begin({ name }: FormPart): Promise<void> {
    await end()
    if (fault !== undefined) throw fault
    if (name !== PRODUCT && name !== IMAGES)
      throw invalidRequest(`body.${name}`, `is not part of this form, which has ${PRODUCT} and ${IMAGES}`)
    if (name === PRODUCT && product !== undefined) throw invalidRequest(`body.${name}`, 'is given twice')
    if (name === IMAGES && files === MOST_IMAGES) throw invalidRequest(`body.${name}`, `has more than ${MOST_IMAGES} files`)
    current = { name, pieces: [], bytes: 0 }
  }

  async function end(): Promise<void> {
    if (current === undefined) return
    const content = Buffer.concat(current.pieces, current.bytes)
    const { name } = current
    current = undefined
    if (name === PRODUCT) product = content
    else await store(content)
  }

  async function store(file: Buffer): Promise<void> {
    const upload = files++
    waiting.bytes += file.length
    storing = storing
      .then(async () => {
        if (fault !== undefined) return
        const stored = await images.keep(file).catch((error) => {
          throw error instanceof ApiError && error.definition === catalogErrors.invalid_image ? faultOfFile(upload, error) : error
        })
        uploads.push(stored)
      })
      .finally(() => {
        waiting.bytes -= file.length
      })
    storing.catch((error) => {
      fault ??= error
    })
    if (waiting.bytes > MOST_WAITING_BYTES) await storing
  }

  await readMultipart(
    pieces,
    { boundary: boundaryOf(contentType ?? ''), maxParts: MOST_PARTS },
    {
      part: begin,
      async data(bytes) {
        current!.bytes += bytes.byteLength
        const isProduct = current!.name === PRODUCT
        const most = isProduct ? MOST_PRODUCT_BYTES : MOST_IMAGE_BYTES
        if (current!.bytes > most) {
          const tooLarge = (what: string) => new ApiError(errors.content_too_large, { message: `The ${what} has more than ${most} bytes.` })
          throw isProduct ? tooLarge(`part ${PRODUCT}`) : faultOfFile(files, tooLarge('image'))
        }
        // Copies the chunk, because it may be a view of a buffer that is reused.
        current!.pieces.push(Buffer.from(bytes))
      },
    },
  ).catch((error) => {
    // Once `fault` is set, the files that still wait are neither checked nor stored.
    fault ??= error
    throw error
  })
  await end()
  await storing
  if (product === undefined) throw invalidRequest(`body.${PRODUCT}`, 'is missing')
  const parsed = parseJsonBody(product)
  assertCleanText(parsed)
  return { product: parsed, uploads }
}

/**
 * Returns an error that names the file that caused it. A form has up to twenty files, so the sender has to know which
 * of them to replace.
 * @param upload position of the file in the form, counted from 0
 */
function faultOfFile(upload: number, { definition, message, cause }: ApiError): ApiError {
  return new ApiError(definition, { message: `File ${upload} of the form, counted from 0: ${message}`, fields: { upload }, cause })
}
