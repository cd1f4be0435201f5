import { snippetBlobs } from '../../schemas/snippets/topics.ts'
import type { BlobStore } from '../../state/blobs/blob-store.ts'
import { connectBlobs } from '../../state/blobs/connect.ts'
import { type SweepOptions, sweepBlobs } from '../../state/blobs/sweep.ts'
import { erasureTimes } from '../../state/erasure.ts'
import { connectSinkRedis } from '../../state/views/connect.ts'
import { referencedIn } from '../../state/views/references.ts'
import { blobReferences, forgetUnreferenced, unreferencedBlobs } from '../../state/views/snippets/snippet-blobs.ts'
import { periodicJob, type Runner } from '../engine/index.ts'
import { inFirstSlot } from '../first-slot.ts'
import type { SinkContext } from '../sinks.ts'

const NAME = 'snippet-blobs-sweep'
/**
 * Number of runs between two scans of all blobs. The scans find blobs that failed creations and killed writers left
 * behind.
 */
const RUNS_PER_WALK = 20

/**
 * Creates a job that removes blobs to which no snippet refers and that have not been touched for some time (by default
 * almost an hour). Each run checks the blobs that have lost their last reference; every twentieth run scans all blobs.
 * The job runs in the first worker slot of each machine. Several sweeps at once do no harm.
 */
export function blobSweep({ config, transport, runtime }: SinkContext): Runner {
  const { log } = runtime
  const times = erasureTimes(config.eraseWithinMs)
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, log)
  const reader = {
    exists: (key: string) => redis.exists(key),
    hget: (key: string, field: string) => redis.hget(key, field),
    zrange: (key: string, start: number, stop: number) => redis.zrange(key, String(start), String(stop), 'WITHSCORES'),
    zrem: (key: string, member: string) => redis.zrem(key, member),
  }
  /** Undefined until the first run has connected. */
  let blobs: BlobStore | undefined
  let runs = 0
  let swept = 0

  async function run(signal: AbortSignal): Promise<void> {
    blobs ??= await connectBlobs(config.blobs)
    const counts = await transport.partitionCounts([snippetBlobs.name])
    const partitions = counts.get(snippetBlobs.name)
    if (partitions === undefined) throw new Error(`there is no topic ${snippetBlobs.name}`)
    const before = runtime.now() - times.untouchedMs
    const madeBefore = before + times.referencedWithinMs
    const referenced = (hashes: readonly string[]) => referencedIn(blobReferences, reader, { partitions, hashes, madeBefore })
    for (let partition = 0; partition < partitions && !signal.aborted; partition++) {
      await removeUnreferenced({ blobs, referenced, before }, partition)
    }
    if (++runs % RUNS_PER_WALK !== 0 || signal.aborted) return
    const { seen, removed, drafts } = await sweepBlobs({ blobs, referenced, before, signal })
    swept += removed
    log.info({ seen, removed, drafts }, 'blobs_swept')
  }

  async function removeUnreferenced({ blobs, referenced, before }: Omit<SweepOptions, 'signal'>, partition: number): Promise<void> {
    const found = await unreferencedBlobs(reader, partition)
    if (found.length === 0) return
    const kept = await referenced(found.map(({ hash }) => hash))
    for (const { hash, since } of found) {
      const isRemoved = !kept.has(hash) && (await blobs.shelf.removeUntouched(hash, before))
      swept += Number(isRemoved)
      // If a blob has been unreferenced for twice the waiting time and still cannot be removed, an earlier run has
      // removed it, or it was touched again. In the second case, a later scan of all blobs removes it.
      if (isRemoved || kept.has(hash) || since < before - times.untouchedMs) await forgetUnreferenced(reader, partition, hash)
    }
  }

  const job = periodicJob(
    {
      name: NAME,
      everyMs: times.sweepEveryMs,
      run,
      samples: () => [{ name: 'blobs_swept_total', help: 'Unreferenced blobs that were removed', labels: { sink: NAME }, value: swept }],
      close: () => redis.disconnect(),
    },
    runtime,
  )
  return inFirstSlot(config, job)
}
