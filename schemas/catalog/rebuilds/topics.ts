import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { IndexRebuild, IndexRebuildStatus } from '../types.ts'

const DAYS_KEPT = 7

/**
 * Requests to rebuild an index; key: name of the index. There is only one partition, so its owner builds all indexes.
 */
export const indexRebuild: Topic<string, IndexRebuild> = {
  name: 'index.rebuild',
  key: utf8,
  value: avro('catalog/IndexRebuild'),
  partitions: 1,
  config: keptFor(DAYS_KEPT * DAY_MS, HOUR_MS),
}

/** The progress of each rebuild; key: rebuild_id. Every API instance reads all records. */
export const indexRebuilds: Topic<string, IndexRebuildStatus> = {
  name: 'index-rebuilds',
  key: utf8,
  value: avro('catalog/IndexRebuildStatus'),
  partitions: 1,
  config: { ...keptFor(DAYS_KEPT * DAY_MS, HOUR_MS), 'cleanup.policy': 'compact,delete' },
}

export const rebuildTopics = [indexRebuild, indexRebuilds]
