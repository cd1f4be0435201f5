import { type ImageWidth, imageForm } from '../../schemas/catalog/products/image-forms.ts'
import type { ImageStore } from './images.ts'
import { sharp } from './sharp.ts'

const QUALITY = 80
const TIMEOUT_SECONDS = 20

/**
 * Makes and stores a WebP file of a stored image, which is never wider than the image.
 * @returns undefined if the image is not stored. Throws BlobsUnavailableError, BlobCorruptError.
 */
export async function makeSmaller({ originals, smaller }: ImageStore, hash: string, width: ImageWidth): Promise<Buffer | undefined> {
  const blob = await originals.open(hash)
  if (blob === undefined) return undefined
  const pieces: Buffer[] = []
  for await (const piece of blob.content()) pieces.push(piece)
  const made = await sharp(Buffer.concat(pieces))
    .timeout({ seconds: TIMEOUT_SECONDS })
    .resize({ width, withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer()
  await smaller.put(hash, imageForm(width), made)
  return made
}
