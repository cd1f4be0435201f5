import type { BlobStore } from './blob-store.ts'
import { type BlobSettings, connectBlobs } from './connect.ts'
import { type DerivedStore, derivedStore } from './derived.ts'

/** Where images are: the originals, and smaller forms of them in a root of their own. */
export interface ImageStore {
  readonly originals: BlobStore
  readonly smaller: DerivedStore
}

/** Opens the two roots below the place of images. Images are compressed already. */
export async function connectImages({ url, s3Endpoint }: BlobSettings): Promise<ImageStore> {
  const place = url.replace(/\/+$/, '')
  const [originals, smaller] = await Promise.all(
    ['originals', 'smaller'].map((root) => connectBlobs({ url: `${place}/${root}`, s3Endpoint, compresses: false })),
  )
  return { originals, smaller: derivedStore(smaller.shelf) }
}
