import { type MemberlessGroup, type OffsetToCommit, partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Lane } from './lane.ts'

/** Pause after a commit that failed. */
const AFTER_FAILURE_MS = 1_000

export interface OffsetCommitsDeps {
  /** Called before each commit. @throws an error if another process may already own the partitions */
  readonly confirm: () => Promise<void>
  /** Shortest time from the start of a commit until `isDue` is true again. */
  readonly everyMs: number
  readonly runtime: Pick<Runtime, 'monotonic' | 'log'>
}

/**
 * Commits the offsets of the lanes, one commit at a time. A failure is only logged, because the lanes offer their
 * offsets again. Of several failures in a row, only the first is logged. If the sink restarts before a
 * commit succeeds, and its target stores no offsets, the sink reads a few records a second time.
 */
export interface OffsetCommits {
  /** True when the next commit may begin. */
  readonly isDue: boolean
  /** Never rejects. */
  commit(lanes: Iterable<Lane>): Promise<void>
  /** Resolves when no commit is running. */
  ended(): Promise<void>
}

/**
 * Creates the object that commits a sink's offsets.
 * @param group the group with the sink's name. Kafka accepts offsets for this group from any process, so only `confirm`
 * prevents commits of a process that has lost its membership without noticing.
 */
export function offsetCommits(group: MemberlessGroup, { confirm, everyMs, runtime }: OffsetCommitsDeps): OffsetCommits {
  let nextAt = 0
  let underWay: Promise<void> | undefined
  /** Number of commits in a row that have failed. */
  let failures = 0

  async function store(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void> {
    await confirm()
    await group.commit(offsets)
    if (failures > 0) runtime.log.info({ sink: group.groupId, failures }, 'sink_commit_recovered')
    failures = 0
  }

  return {
    get isDue() {
      return underWay === undefined && runtime.monotonic() >= nextAt
    },
    async commit(lanes) {
      await underWay
      const now = runtime.monotonic()
      nextAt = now + everyMs
      const offsets = new Map<string, OffsetToCommit>()
      const taken: Lane[] = []
      for (const lane of lanes) {
        const offset = lane.takeCommit(now)
        if (offset === undefined) continue
        offsets.set(partitionKey(offset.topic, offset.partition), offset)
        taken.push(lane)
      }
      if (offsets.size === 0) return
      underWay = store(offsets)
        .catch((error: Error) => {
          if (failures++ === 0) runtime.log.warn({ sink: group.groupId, reason: error.message }, 'sink_commit_failed')
          nextAt = runtime.monotonic() + Math.max(everyMs, AFTER_FAILURE_MS)
          for (const lane of taken) lane.commitFailed()
        })
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
