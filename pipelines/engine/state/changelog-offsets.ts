import type { Transport } from '../../../kafka/transport.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { TaskPlace } from '../task/task-place.ts'
import { epochQueries, type StartOffsets } from './restore.ts'

export interface ChangelogOffsetDeps {
  readonly transport: Pick<Transport, 'offsets' | 'topicIds' | 'epochEnds'>
  readonly session: StateSession
  readonly exactlyOnce: boolean
}

/**
 * Fetches the changelog offsets of tasks that run on other workers. The offsets show which records the local copies of
 * those tasks' state lack.
 * @param now epoch ms
 */
export async function fetchChangelogOffsets(places: readonly TaskPlace[], now: number, deps: ChangelogOffsetDeps): Promise<StartOffsets> {
  const { transport, session, exactlyOnce } = deps
  const changelogs = places.flatMap((place) => place.changelogs)
  const topics = [...new Set(changelogs.map(({ topic }) => topic))]
  const topicIds = await transport.topicIds(topics)
  const [changelogStarts, changelogEnds, changelogEpochEnds] = await Promise.all([
    transport.offsets(changelogs, 'earliest'),
    transport.offsets(changelogs, 'end'),
    transport.epochEnds(epochQueries(session, places, topicIds)),
  ])
  return { committed: new Map(), changelogStarts, changelogEnds, changelogEpochEnds, topicIds, now, exactlyOnce }
}
