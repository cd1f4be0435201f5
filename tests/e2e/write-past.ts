import { changelogs, fillChangelog } from '../../bench/trends/changelogs.ts'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { partitionKey } from '../../kafka/transport.ts'
import { frequentNote, type RareTerm } from '../../pipelines/trends/rare-terms.ts'
import { trends } from '../../pipelines/trends/topology.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { termOfKey } from '../../schemas/trends/term.ts'
import type { RegionHistory, TermBaseline } from '../../schemas/trends/types.ts'
import type { Past, PastBaseline } from './past.ts'
import type { System } from './system.ts'

const HOUR_MS = 3_600_000
const WEEK_HOURS = 168

interface PastRows {
  readonly usual: Iterable<readonly [key: string, row: TermBaseline]>
  readonly rareTweets: Iterable<readonly [term: string, row: RareTerm]>
  readonly history: Iterable<readonly [woeid: number, row: RegionHistory]>
}

/** Returns the rows of each changelog for the given past. */
export function pastRows({ baselines, histories }: Past, now: number): PastRows {
  const terms = new Set([...baselines.keys()].map(termOfKey))
  const hour = Math.floor(now / HOUR_MS)
  return {
    usual: [...baselines].map(([key, baseline]) => [key, rowOf(baseline)] as const),
    rareTweets: [...terms].map((term) => [term, frequentNote(hour)] as const),
    history: histories,
  }
}

/** Writes a past to the changelogs of the pipeline. Must be called before the first worker starts. */
export async function writePast({ kafka, registry: { address } }: Pick<System, 'kafka' | 'registry'>, past: Past): Promise<void> {
  const transport = kafkaTransport({ brokers: [kafka.address], clientId: 'past' }, { runtime: systemRuntime() })
  const registry = registryClient({ url: address })
  await transport.connect()
  try {
    const { usual, rareTweets, history } = pastRows(past, Date.now())
    await fillChangelog(changelogs.usual, usual, transport, registry)
    await fillChangelog(changelogs.rareTweets, rareTweets, transport, registry)
    await fillChangelog(changelogs.history, history, transport, registry)
    // A worker refuses state whose input position is unknown. Offset 0 of each source partition is therefore committed
    // as the input position of this state.
    const sources = [...new Set(trends.subTopologies.flatMap((part) => part.sources))]
    const counts = await transport.partitionCounts(sources)
    const partitions = [...counts].flatMap(([topic, count]) => Array.from({ length: count }, (_, partition) => ({ topic, partition })))
    const group = transport.memberlessGroup(trends.name)
    await group.commit(new Map(partitions.map((place) => [partitionKey(place.topic, place.partition), { ...place, offset: 0 }])))
    await group.close()
  } finally {
    await transport.close()
  }
}

function rowOf({ since, counts }: PastBaseline): TermBaseline {
  const hours = [...counts.keys()]
  return {
    since_hour: since,
    seen_hour: Math.max(...hours),
    hours_of_week: hours.map((hour) => hour % WEEK_HOURS),
    means: [...counts.values()],
    weeks: hours.map((hour) => Math.floor(hour / WEEK_HOURS)),
  }
}
