import { type MemberlessGroup, type OffsetToCommit, partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Lane } from './lane.ts'

/** Interval of commits. Only lag monitors, and tables whose rows have expired, use the offsets in Kafka. */
const COMMIT_EVERY_MS = 1_000

export interface OffsetCommitsDeps {
  /** Called before each commit. @throws an error if another process may own the partitions by now */
  readonly confirm: () => Promise<void>
  readonly runtime: Pick<Runtime, 'monotonic' | 'log'>
}

/**
 * Commits the offsets that the target has applied, one commit at a time. It only logs failures, because nothing depends
 * on these offsets.
 */
export interface OffsetCommits {
  /** True when a second has passed since the last commit and none is running. */
  readonly isDue: boolean
  /** Never rejects. */
  commit(lanes: Iterable<Lane>): Promise<void>
  /** Resolves when no commit is running. */
  ended(): Promise<void>
}

/**
 * @param group the group with the sink's name. Kafka accepts its offsets from any process, so `confirm` must stop a
 * process that has lost its membership without noticing.
 */
export function offsetCommits(group: MemberlessGroup, { confirm, runtime }: OffsetCommitsDeps): OffsetCommits {
  let lastAt = 0
  let underWay: Promise<void> | undefined

  async function store(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void> {
    await confirm()
    await group.commit(offsets)
  }

  return {
    get isDue() {
      return underWay === undefined && runtime.monotonic() - lastAt >= COMMIT_EVERY_MS
    },
    async commit(lanes) {
      await underWay
      lastAt = runtime.monotonic()
      const offsets = new Map<string, OffsetToCommit>()
      for (const lane of lanes) {
        const offset = lane.takeCommit(lastAt)
        if (offset) offsets.set(partitionKey(offset.topic, offset.partition), offset)
      }
      if (offsets.size === 0) return
      underWay = store(offsets)
        .catch((error: Error) => runtime.log.warn({ sink: group.groupId, reason: error.message }, 'sink_commit_failed'))
        .finally(() => {
          underWay = undefined
        })
      await underWay
    },
    async ended() {
      await underWay
    },
  }
}
