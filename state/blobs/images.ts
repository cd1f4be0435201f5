import type { BlobStore } from './blob-store.ts'
import { type BlobSettings, connectBlobs } from './connect.ts'
import { type DerivedStore, derivedStore } from './derived.ts'

/** The stores of images: one store for originals and one for smaller versions. */
export interface ImageStore {
  readonly originals: BlobStore
  readonly smaller: DerivedStore
}

/**
 * Opens both stores, each in a separate root below the URL. Nothing is compressed, because images are compressed
 * already.
 */
export async function connectImages({ url, s3Endpoint }: BlobSettings): Promise<ImageStore> {
  const place = url.replace(/\/+$/, '')
  const [originals, smaller] = await Promise.all(
    ['originals', 'smaller'].map((root) => connectBlobs({ url: `${place}/${root}`, s3Endpoint, compresses: false })),
  )
  return { originals, smaller: derivedStore(smaller.shelf) }
}
