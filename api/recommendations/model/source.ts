import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { CancelTimer } from '../../../runtime/runtime.ts'
import { MODELS_KEY, recommendationModels } from '../../../schemas/recommendations/models/topics.ts'
import type { ModelHistory, ModelVersion, RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { BlobStore } from '../../../state/blobs/blob-store.ts'
import { type VersionInForce, versionInForce } from '../../../state/versions/in-force.ts'
import { localVersions } from '../../../state/versions/local.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { ServiceKit } from '../../service.ts'
import type { ModelSource } from './model.ts'
import { newerItems } from './newer-items.ts'
import type { OpenModel } from './open.ts'

export interface FollowedModels extends ModelSource {
  readonly probe: ReadinessProbe
  /**
   * Passes a changed item on to the models. A model that was not trained on the item computes a vector from the item's
   * content.
   * @param item undefined for a deleted item
   */
  putItem(itemId: bigint, item: RecommendationItem | undefined): void
  /** The items whose contents are kept for models. The snapshot of the items contains them. */
  readonly newer: SavedItems
  /** Returns the record of the trained models; undefined if no model was trained yet. */
  history(): ModelHistory | undefined
  /** Resolves once no model is being fetched or opened. */
  settled(): Promise<unknown>
  close(): Promise<void>
}

/** Items with their contents as text. */
export interface SavedItems {
  saved(): Iterable<readonly [itemId: bigint, content: string]>
  /** @param updatedAt the `updated_at` of the item */
  restore(itemId: bigint, content: string, updatedAt: number): void
}

export interface FollowModelsDeps extends Pick<ServiceKit, 'topicFeeds' | 'surroundings' | 'log' | 'now'> {
  readonly blobs: Pick<BlobStore, 'open'>
  openModel(folder: string): Promise<OpenModel>
  setTimer(ms: number, callback: () => void): CancelTimer
}

/** Time until a replaced model is closed. By then, all requests that use it have ended. */
export const LET_GO_AFTER_MS = 60_000
const PERCENT = 100

/** Follows the record that names the models, and keeps the champion and the challenger open. */
export async function followModels(deps: FollowModelsDeps): Promise<FollowedModels> {
  const { topicFeeds, blobs, openModel, surroundings, log, now, setTimer } = deps
  const local = localVersions({ blobs, folder: join(surroundings.home, 'data', 'model-versions'), now })
  const newer = newerItems()
  const opened = new Set<OpenModel>()
  const timers = new Set<CancelTimer>()
  let percent = 0
  let versions: readonly ModelVersion[] = []
  let record: ModelHistory | undefined

  function follow(role: string): VersionInForce<OpenModel> {
    return versionInForce<OpenModel>({
      local,
      async open(folder) {
        const model = await openModel(folder)
        await newer.fill(model)
        opened.add(model)
        return model
      },
      onSwitch(version) {
        log.info({ role, version: version?.version }, 'model_switched')
        letGoLater()
      },
      onDiscarded: letGo,
      onRefused: (version, error, willRetry) => log.error({ role, version: version.version, err: error, willRetry }, 'model_refused'),
      setTimer,
    })
  }
  const champion = follow('champion')
  const challenger = follow('challenger')
  const inForce = () => [champion.current?.opened, challenger.current?.opened]

  function letGo(model: OpenModel): void {
    if (opened.delete(model)) model.close()
  }

  /**
   * Closes models that are no longer in force, once no request can be using them. Also removes the files of versions
   * that the record no longer names. By then, the other processes on this host have read the same record, so none of
   * them still opens these files.
   */
  function letGoLater(): void {
    const answering = new Set(inForce())
    const leaving = [...opened].filter((model) => !answering.has(model))
    const cancel = setTimer(LET_GO_AFTER_MS, () => {
      timers.delete(cancel)
      const kept = new Set(inForce())
      for (const model of leaving) if (!kept.has(model)) letGo(model)
      local.keepOnly(versions).catch((error) => log.warn({ err: error }, 'old_models_not_removed'))
    })
    timers.add(cancel)
  }

  function apply(history: ModelHistory | undefined): void {
    const named = (name: string | null | undefined) => history?.versions.find(({ version }) => version === name)
    record = history
    percent = history?.challenger_percent ?? 0
    versions = history?.versions ?? []
    champion.want(named(history?.champion))
    challenger.want(percent > 0 ? named(history?.challenger) : undefined)
  }

  const settled = () => Promise.all([champion.settled(), challenger.settled()])
  const held = () => (record === undefined ? [] : [MODELS_KEY])
  const feed = await topicFeeds(recommendationModels, (key, history) => key === MODELS_KEY && apply(history), held)

  return {
    current(userId) {
      const isChallenged = percent > 0 && userId !== undefined && bucketOf(userId) < percent
      return (isChallenged ? challenger.current : undefined)?.opened ?? champion.current?.opened
    },
    probe: feed.probe,
    newer: { saved: newer.saved, restore: (itemId, content, updatedAt) => newer.restore(itemId, content, updatedAt, inForce()) },
    history: () => record,
    putItem: (itemId, item) => newer.put(itemId, item, inForce()),
    settled,
    async close() {
      champion.close()
      challenger.close()
      await Promise.all([settled(), feed.close()])
      for (const cancel of timers) cancel()
      for (const model of opened) letGo(model)
    },
  }
}

/**
 * Returns the bucket of a user, from 0 to 99. The bucket never changes, so a user keeps the same model while the
 * challenger's share stays the same.
 */
function bucketOf(userId: bigint | string): number {
  return createHash('sha256').update(String(userId)).digest().readUInt32BE() % PERCENT
}
