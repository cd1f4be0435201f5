import { type ImageWidth, imageForm } from '../../../schemas/catalog/products/image-forms.ts'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'
import type { ImageStore } from '../../../state/blobs/images.ts'
import { makeSmaller } from '../../../state/blobs/resize.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { checkImage } from './check.ts'
import { gate } from './gate.ts'

/** The stored original of an image. */
export interface StoredImage {
  /** SHA-256 of the stored original in hex. */
  readonly content_hash: string
  readonly content_type: string
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** Stores the images of products and makes their smaller versions. */
export interface Images {
  /** Checks and stores an image. Throws ApiError `invalid_image`, `unavailable`. */
  keep(bytes: Buffer): Promise<StoredImage>
  /**
   * Returns an image as a WebP file of the given width, or of the original's width if the original is narrower. Makes
   * and stores the file if it does not exist yet.
   * @returns undefined if there is no such image. Throws ApiError `unavailable`.
   */
  smaller(hash: string, width: ImageWidth): Promise<Buffer | undefined>
}

/** Maximum number of images that are processed at once. Each image takes a core and up to 200 MB. */
const AT_ONCE = 2

export function images(store: ImageStore): Images {
  const { originals, smaller } = store
  const working = gate(AT_ONCE)

  async function keep(bytes: Buffer): Promise<StoredImage> {
    const { bytes: content, contentType, width, height } = await working.run(undefined, () => checkImage(bytes))
    const draft = originals.draft()
    try {
      await draft.write(content)
      const { hash } = await originals.keep(draft)
      return { content_hash: hash, content_type: contentType, width, height }
    } finally {
      await draft.discard()
    }
  }

  return {
    keep: (bytes) => answering(() => keep(bytes)),
    smaller: (hash, width) =>
      answering(
        async () =>
          (await smaller.get(hash, imageForm(width))) ??
          (await working.run(`${hash} ${width}`, () => makeSmaller(store, hash, { name: imageForm(width), width }))),
      ),
  }
}

async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    // A damaged original stays damaged, so it must not be reported as a temporary outage.
    if (!(cause instanceof BlobsUnavailableError)) throw cause
    throw new ApiError(errors.unavailable, { message: 'The image cannot be read or stored now. Try again shortly.', cause })
  }
}
