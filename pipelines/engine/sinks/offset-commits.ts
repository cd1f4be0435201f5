import { type MemberlessGroup, type OffsetToCommit, partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Lane } from './lane.ts'

/** Kafka's offsets are for lag monitors, and for tables whose rows have expired: the target knows better. */
const COMMIT_EVERY_MS = 1_000

export interface OffsetCommitsDeps {
  /** Called before each commit. @throws when the partitions may belong to another process by now */
  readonly confirm: () => Promise<void>
  readonly runtime: Pick<Runtime, 'monotonic' | 'log'>
}

/** Commits what the target has applied, one commit at a time. Failures are only logged, as nothing depends on them. */
export interface OffsetCommits {
  /** A second has passed since the last commit, and none is under way. */
  readonly isDue: boolean
  /** Never rejects. */
  commit(lanes: Iterable<Lane>): Promise<void>
  /** Resolves when no commit is under way. */
  ended(): Promise<void>
}

/** @param group has the sink's name. Kafka takes its offsets from any process, so `confirm` must stop a laggard. */
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
