import sharp from 'sharp'
import type { ImageWidth } from './address.ts'

const QUALITY = 80
const TIMEOUT_SECONDS = 20

/** Makes a WebP file of an image that `checkImage` has returned. It is never wider than the image. */
export async function resized(image: Buffer, width: ImageWidth): Promise<Buffer> {
  return await sharp(image)
    .timeout({ seconds: TIMEOUT_SECONDS })
    .resize({ width, withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer()
}
