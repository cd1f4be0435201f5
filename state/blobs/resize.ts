import type { ImageStore } from './images.ts'
import { sharp } from './sharp.ts'

const QUALITY = 80
const TIMEOUT_SECONDS = 20
/** Maximum height of a WebP image, in pixels. */
const MOST_HEIGHT = 16_383

/** A smaller version of an image that a service needs. */
export interface SmallerForm {
  /** Name of the form in the store. */
  readonly name: string
  /** Maximum width in pixels. The image is narrower if it would otherwise be higher than `MOST_HEIGHT`. */
  readonly width: number
}

/**
 * Creates and stores a WebP version of a stored image. The new image is never wider than the stored one.
 * @returns undefined if the image is not stored, or was removed in the meantime
 * @throws BlobsUnavailableError, BlobCorruptError, or the error of the image library
 */
export async function makeSmaller(
  { originals, smaller }: ImageStore,
  hash: string,
  { name, width }: SmallerForm,
): Promise<Buffer | undefined> {
  const blob = await originals.open(hash)
  if (blob === undefined) return undefined
  const pieces: Buffer[] = []
  for await (const piece of blob.content()) pieces.push(piece)
  const made = await sharp(Buffer.concat(pieces))
    .timeout({ seconds: TIMEOUT_SECONDS })
    .resize({ width, height: MOST_HEIGHT, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer()
  await smaller.put(hash, name, made)
  // Sweeps find smaller versions through their originals. If a sweep has removed the original in the meantime, no later
  // sweep will find this version, so it is removed here.
  if (await isShelved(originals, hash)) return made
  await smaller.remove(hash, [name])
  return undefined
}

/**
 * Returns whether the shelf contains the image. Bypasses the store, which may still have a removed image in its cache.
 */
async function isShelved({ shelf }: ImageStore['originals'], hash: string): Promise<boolean> {
  const found = await shelf.open(hash)
  if (found !== undefined && !Buffer.isBuffer(found)) found.destroy()
  return found !== undefined
}
