import { catalogImages } from '../../../schemas/catalog/documents/topics.ts'
import { IMAGE_WIDTHS, imageForm } from '../../../schemas/catalog/products/image-forms.ts'
import type { ImageReferences } from '../../../schemas/catalog/types.ts'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'
import { connectImages, type ImageStore } from '../../../state/blobs/images.ts'
import { createSink, type Runtime, type SinkTarget, sinkRunner, TargetUnavailableError } from '../../engine/index.ts'
import type { SinkContext, SinkDeclaration } from '../../sinks.ts'

const NAME = 'catalog-images-smaller'
/**
 * Limits of a batch. Batches are small, because the sink commits its offset only between batches. After a restart, the
 * sink looks in the blob store for every image that it has processed since the last commit.
 */
const LIMITS = { maxRecords: 20, maxBytes: 64 * 1024, lingerMs: 0 }
/**
 * How long records are collected before the next fetch. No request waits for this sink: the API itself makes a resized
 * image that a request needs earlier.
 */
const COLLECT_MS = 500

/**
 * Makes the WebP files of each image that a product gains, so that the first reader does not have to wait for them.
 * Processes one image of each partition at a time. The sink's position is the committed offset of its group. If a
 * record is read again, the files of its image are already in the blob store.
 */
export const smallerImages: SinkDeclaration = {
  name: NAME,
  topics: [catalogImages],
  store: 'blobs',
  open({ config, transport, registry, runtime }: SinkContext, seat) {
    async function create() {
      const target = smallerImagesTarget(await connectImages(config.images), runtime)
      return createSink({ name: NAME, topics: [catalogImages] }, { transport, registry, target, seat, runtime })
    }
    return sinkRunner({ name: NAME, create, close: async () => undefined }, runtime)
  },
}

export function smallerImagesTarget(store: ImageStore, { log }: Pick<Runtime, 'log'>): SinkTarget {
  async function makeMissing(hash: string): Promise<void> {
    for (const width of IMAGE_WIDTHS) {
      const form = { name: imageForm(width), width }
      if ((await store.smaller.get(hash, form.name)) !== undefined) continue
      // The library is imported only here, because it takes 20 MB. Workers without new images do not need it.
      const { makeSmaller } = await import('../../../state/blobs/resize.ts')
      // The original may be gone, because the sweep removes originals that no product uses.
      if ((await makeSmaller(store, hash, form)) === undefined) return
    }
  }

  async function make(hash: string): Promise<void> {
    try {
      await makeMissing(hash)
    } catch (error) {
      if (error instanceof BlobsUnavailableError) throw new TargetUnavailableError(error.message, { cause: error })
      // A damaged original must not delay the other images. A request for the image reports the same error.
      log.warn({ sink: NAME, content_hash: hash, reason: (error as Error).message }, 'image_not_resized')
    }
  }

  return {
    name: 'smaller images',
    limits: LIMITS,
    collectMs: COLLECT_MS,
    // If the log ends before the committed offset, the topic was recreated, and the offset belongs to the old topic.
    open: async (_partition, { committed, end }) => (committed !== undefined && committed.offset <= end ? committed.offset : undefined),
    prepare({ records }) {
      const hashes = (records as readonly { readonly key: unknown; readonly value: unknown }[]).flatMap(({ key, value }) =>
        (value as ImageReferences | null) === null ? [] : [key as string],
      )
      let done = 0
      return async function makeAll() {
        for (; done < hashes.length; done++) await make(hashes[done])
        return { outcome: 'applied' }
      }
    },
  }
}
