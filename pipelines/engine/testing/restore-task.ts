import type { MemoryBroker } from '../../../kafka/memory/broker.ts'
import { partitionKey, UNKNOWN_LEADER_EPOCH } from '../../../kafka/transport.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { changelogCopy } from '../state/copy-changelog.ts'
import { planRestore, putComplete, putRestored, type StartOffsets, startPositions } from '../state/restore.ts'
import type { StreamTask } from '../task/task.ts'

const ALL_RECORDS = Number.MAX_SAFE_INTEGER

/**
 * Takes a task from CREATED to RUNNING in one step: reads its changelogs to their ends, and continues its input at the
 * offsets that the group or the state contains. A source without such an offset begins at the start of its log.
 */
export function restoreTask(task: StreamTask, group: string, session: StateSession, broker: MemoryBroker, now: number): void {
  const logs = task.changelogs.map((changelog) => broker.log(changelog.topic, changelog.partition))
  const keys = task.changelogs.map((changelog) => partitionKey(changelog.topic, changelog.partition))
  const offsets: StartOffsets = {
    committed: broker.groups.committed(group),
    changelogStarts: new Map(logs.map((log, i) => [keys[i], log.startOffset])),
    changelogEnds: new Map(logs.map((log, i) => [keys[i], log.endOffset])),
    changelogEpochEnds: new Map(),
    topicIds: new Map(),
    now,
    exactlyOnce: true,
  }
  const copy = changelogCopy(session)
  task.beginRestore()
  for (const { changelog, from, to } of planRestore(session, task, offsets)) {
    copy(changelog, broker.fetch(changelog.topic, changelog.partition, from, ALL_RECORDS))
    putRestored(session, changelog, to, UNKNOWN_LEADER_EPOCH)
  }
  if (task.changelogs.length > 0) putComplete(session, task, now)
  session.write()
  const positions = startPositions(session, task, offsets)
  for (const source of task.sources) {
    const key = partitionKey(source.topic, source.partition)
    if (!positions.has(key)) positions.set(key, { offset: broker.log(source.topic, source.partition).startOffset, streamTime: -1 })
  }
  task.start(positions)
}
