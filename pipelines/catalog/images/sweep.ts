import { catalogImages } from '../../../schemas/catalog/documents/topics.ts'
import { IMAGE_FORMS } from '../../../schemas/catalog/products/image-forms.ts'
import { connectImages, type ImageStore } from '../../../state/blobs/images.ts'
import { sweepBlobs } from '../../../state/blobs/sweep.ts'
import { imageReferences } from '../../../state/views/catalog/catalog-images.ts'
import { connectSinkRedis } from '../../../state/views/connect.ts'
import { referencedIn } from '../../../state/views/references.ts'
import { periodicJob, type Runner } from '../../engine/index.ts'
import { inFirstSlot } from '../../first-slot.ts'
import type { SinkContext } from '../../sinks.ts'
import { catalogTopology } from '../documents/topology.ts'
import { processedCheck } from './processed-check.ts'

const NAME = 'catalog-images-sweep'
const HOUR_MS = 3_600_000
const EVERY_MS = HOUR_MS
/**
 * How long an image that belongs to no product is kept after its last upload. An image that is removed too early is
 * lost, so the time is far longer than the usual lag of the topology that counts the references. While the topology is
 * further behind, no image is removed.
 */
export const UNTOUCHED_MS = 72 * HOUR_MS
/**
 * Upper limit for the time from the last upload of an image to a product event that refers to it. The real time is at
 * most a few minutes, because commands that are decided later are dropped.
 */
export const MARGIN_MS = HOUR_MS

/**
 * Removes originals that no product uses, and their resized versions. Runs in the first worker slot of each machine.
 */
export function imageSweep({ config, transport, runtime }: SinkContext): Runner {
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
  const reader = {
    exists: (key: string) => redis.exists(key),
    hget: (key: string, field: string) => redis.hget(key, field),
  }
  let opened: Promise<ImageStore> | undefined
  let swept = 0
  const check = processedCheck({ transport, runtime, topology: catalogTopology.name, maxLagMs: UNTOUCHED_MS - MARGIN_MS })

  async function run(signal: AbortSignal): Promise<void> {
    // The view of references is complete only after the topology has processed the events that refer to images.
    const madeBefore = await check(signal)
    if (madeBefore === undefined) return
    opened ??= connectImages(config.images)
    const { seen, removed, drafts } = await sweepImages(await opened, {
      async referenced(hashes) {
        const partitions = (await transport.partitionCounts([catalogImages.name])).get(catalogImages.name)
        if (partitions === undefined) throw new Error(`there is no topic ${catalogImages.name}`)
        return await referencedIn(imageReferences, reader, { partitions, hashes, madeBefore })
      },
      before: madeBefore - UNTOUCHED_MS,
      signal,
    })
    swept += removed
    runtime.log.info({ seen, removed, drafts }, 'images_swept')
  }

  const job = periodicJob(
    {
      name: NAME,
      everyMs: EVERY_MS,
      run,
      samples: () => [
        { name: 'images_swept_total', help: 'Removed images that no product referred to', labels: { sink: NAME }, value: swept },
      ],
      close: () => redis.disconnect(),
    },
    runtime,
  )
  return inFirstSlot(config, job)
}

type SweepImagesOptions = Omit<Parameters<typeof sweepBlobs>[0], 'blobs'>

/**
 * Removes originals that no product refers to and that were last touched before `before`, each with its resized
 * versions. Also removes drafts that were last written before `before`.
 */
export async function sweepImages({ originals, smaller }: ImageStore, options: SweepImagesOptions) {
  const { shelf } = originals
  async function removeUntouched(hash: string, before: number): Promise<boolean> {
    // The resized versions are removed first. If the process dies in between, the next sweep still finds the original,
    // and removes the rest. If the original was just uploaded again, the versions are made again when they are needed.
    await smaller.remove(hash, IMAGE_FORMS)
    if (!(await shelf.removeUntouched(hash, before))) return false
    // Another process may have made resized versions again before the original was removed.
    await smaller.remove(hash, IMAGE_FORMS)
    return true
  }
  return await sweepBlobs({ ...options, blobs: { ...originals, shelf: { ...shelf, removeUntouched } } })
}
