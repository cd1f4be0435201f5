import type { Sharp } from 'sharp'
import { sharp } from '../../../state/blobs/sharp.ts'
import { ApiError } from '../../kit/errors.ts'
import { catalogErrors } from '../errors.ts'

/** A re-encoded image without metadata, rotated upright. */
export interface CheckedImage {
  readonly bytes: Buffer
  readonly contentType: string
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/**
 * Maximum number of pixels. It allows the largest photos of most phones. Rotating an image of this size takes up to
 * 200 MB of memory.
 */
const MOST_PIXELS = 50_000_000
/**
 * Time limit for decoding and re-encoding. The largest photos take several seconds, so a file that exceeds this limit
 * was crafted to be slow.
 */
const TIMEOUT_SECONDS = 20
/**
 * Quality of the re-encoded image, from 1 to 100. All smaller files are made from this image, so it must have no
 * visible loss.
 */
const QUALITY = 92
/**
 * Encoding effort for AVIF, which takes far longer to encode than other formats: about 2 s of CPU time for a photo of
 * 12 megapixels. An effort of 2 takes three times as long, and the files are hardly smaller.
 */
const AVIF_EFFORT = 0

/**
 * The decoder's warning about three wrong bytes in the scan header of a sequential JPEG. Photos from some Samsung
 * phones have these bytes. Only the decoding of progressive JPEGs uses the bytes, so the pixels are right.
 */
const HARMLESS_WARNING = 'Invalid SOS parameters'

/** The brands of AVIF images and sequences. */
const AVIF_BRANDS: readonly string[] = ['avif', 'avis']
const BRAND_BYTES = 4
/** Maximum size of the box `ftyp`, in bytes. Real boxes have fewer than ten brands. */
const MOST_FTYP_BYTES = 256

type Format = 'jpeg' | 'png' | 'webp' | 'avif'

/**
 * Checks an image by decoding all of it, rotates it upright and removes its metadata, which may say where the photo was
 * taken and by whom. Ignores the name and type that the sender declared.
 * Throws ApiError `invalid_image`.
 */
export async function checkImage(bytes: Buffer): Promise<CheckedImage> {
  const format = formatOf(bytes)
  if (format === undefined) throw invalid('is not a JPEG, PNG, WebP or AVIF file')
  try {
    return await checked(bytes, format, 'warning').catch((error: Error) => {
      if (!error.message.includes(HARMLESS_WARNING)) throw error
      // The decoder cannot ignore only this warning, so the second attempt ignores all warnings. A truncated file
      // causes an error, so it is still refused.
      return checked(bytes, format, 'error')
    })
  } catch (error) {
    throw invalid(
      (error as Error).message.includes('pixel limit') ? `has more than ${MOST_PIXELS / 1e6} megapixels` : 'cannot be decoded',
      error,
    )
  }
}

/** @param failOn the least severe fault for which an image is refused */
async function checked(bytes: Buffer, format: Format, failOn: 'warning' | 'error'): Promise<CheckedImage> {
  const image = sharp(bytes, { limitInputPixels: MOST_PIXELS, failOn, autoOrient: true }).timeout({ seconds: TIMEOUT_SECONDS })
  const { data, info } = await written(image, format).toBuffer({ resolveWithObject: true })
  return { bytes: data, contentType: `image/${format}`, width: info.width, height: info.height }
}

function written(image: Sharp, format: Format): Sharp {
  switch (format) {
    case 'jpeg':
      return image.jpeg({ quality: QUALITY })
    case 'png':
      return image.png()
    case 'webp':
      return image.webp({ quality: QUALITY })
    case 'avif':
      return image.avif({ quality: QUALITY, effort: AVIF_EFFORT })
  }
}

/** Recognises the format of a file by its first bytes. */
function formatOf(bytes: Buffer): Format | undefined {
  const text = (from: number, to: number) => bytes.toString('latin1', from, to)
  if (text(0, 3) === '\xff\xd8\xff') return 'jpeg'
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'webp'
  if (text(4, 8) === 'ftyp' && brandsOf(bytes).some((brand) => AVIF_BRANDS.includes(brand))) return 'avif'
  return undefined
}

/** Returns the main brand of a file that begins with a box `ftyp`, and the other brands with which it is compatible. */
function brandsOf(bytes: Buffer): string[] {
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, MOST_FTYP_BYTES)
  const places = Array.from({ length: Math.floor(end / BRAND_BYTES) }, (_, at) => at * BRAND_BYTES)
  // The box begins with its size and its name. A version number follows the main brand.
  return places.filter((at) => at >= 8 && at !== 12).map((at) => bytes.toString('latin1', at, at + BRAND_BYTES))
}

function invalid(reason: string, cause?: unknown): ApiError {
  return new ApiError(catalogErrors.invalid_image, { message: `The image ${reason}.`, cause })
}
