import { snippetBlobs } from '../../schemas/snippets/topics.ts'
import { type BlobStore, UNTOUCHED_MS } from '../../state/blobs/blob-store.ts'
import { connectBlobs } from '../../state/blobs/connect.ts'
import { sweepBlobs } from '../../state/blobs/sweep.ts'
import { connectSinkRedis } from '../../state/views/connect.ts'
import { referencedBlobs } from '../../state/views/snippets/snippet-blobs.ts'
import type { Runner } from '../engine/index.ts'
import type { SinkContext } from '../sinks.ts'

/** Interval of the sweep. Blobs are removed after a day, so an hour more or less does not matter. */
const SWEEP_EVERY_MS = 3_600_000
const NAME = 'snippet-blobs-sweep'

/**
 * Removes blobs that no snippet refers to and that have not been touched for a day, such as those of failed creations
 * and deleted snippets, and drafts of writers that were killed. Runs in the first worker slot of each machine.
 * Several sweeps at once do no harm.
 */
export function blobSweep({ config, transport, runtime }: SinkContext): Runner {
  const { log } = runtime
  const stopping = new AbortController()
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, log)
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let swept = 0
  let failure: string | undefined

  async function sweep(blobs: BlobStore): Promise<void> {
    const counts = await transport.partitionCounts([snippetBlobs.name])
    const partitions = counts.get(snippetBlobs.name)
    if (partitions === undefined) throw new Error(`there is no topic ${snippetBlobs.name}`)
    const referenced = (hashes: readonly string[]) => referencedBlobs({ exists: (key) => redis.exists(key) }, partitions, hashes)
    const before = runtime.now() - UNTOUCHED_MS
    const { seen, removed, drafts } = await sweepBlobs({ blobs, referenced, before, signal: stopping.signal })
    swept += removed
    log.info({ seen, removed, drafts }, 'blobs_swept')
  }

  async function run(): Promise<void> {
    const blobs = await connectBlobs(config.blobs)
    while (!stopping.signal.aborted) {
      await runtime.sleep(SWEEP_EVERY_MS, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        await sweep(blobs)
        failure = undefined
      } catch (error) {
        // A failed sweep removes nothing that is referenced, and the next sweep finds the rest.
        failure = (error as Error).message
        log.warn({ reason: failure }, 'blobs_not_swept')
      }
    }
  }

  return {
    name: NAME,
    kind: 'sink',
    async start() {
      if (config.slot === 0) run().then(resolve, (error: Error) => log.warn({ reason: error.message }, 'blobs_not_swept'))
    },
    done,
    async stop() {
      stopping.abort()
      redis.disconnect()
      resolve()
    },
    notReady: () => undefined,
    describe: () => undefined,
    report: () => ({ swept, failure }),
    samples: () => [{ name: 'blobs_swept_total', help: 'Unreferenced blobs that were removed', labels: { sink: NAME }, value: swept }],
  }
}
