import { AS_OF_KEY } from '../../../schemas/links/as-of.ts'
import type { LinkStats } from '../../../schemas/links/types.ts'
import { NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Statistics of each link. Fed by the topic `link-stats`. The view and the topic are partitioned by short code.
 *
 * | key | value |
 * |---|---|
 * | `{link-stats:<p>}:stats:<short_code>` | JSON: the record without its as_of |
 * | `{link-stats:<p>}:as-of` | epoch ms: the stored statistics include every click of the partition up to this time |
 *
 * A link that was never clicked has no key.
 */
export const LINK_STATS_VIEW = 'link-stats'

export type StoredLinkStats = Omit<LinkStats, 'as_of'>

export interface ReadLinkStats {
  /** Time up to which every click is counted, epoch ms. Some later clicks may be included. */
  readonly asOf: number
  /** The statistics; undefined when the link was never clicked. */
  readonly stats: StoredLinkStats | undefined
}

export const linkStatsView: View<string, LinkStats> = { name: LINK_STATS_VIEW, operationsFor }

function operationsFor(partition: number, code: string, stats: LinkStats | null): ViewOperation[] {
  if (stats === null) return [{ op: 'del', key: statsKey(partition, code) }]
  const { as_of, ...counted } = stats
  if (code === AS_OF_KEY) return [{ op: 'set', key: asOfKey(partition), value: String(as_of) }]
  return [{ op: 'set', key: statsKey(partition, code), value: JSON.stringify(counted) }]
}

/** @returns NOT_CAUGHT_UP while the view is being built, or until the pipeline has published its first as_of time */
export async function readLinkStats(reader: ViewReader, partition: number, code: string): Promise<ReadLinkStats | typeof NOT_CAUGHT_UP> {
  // The order matters: statistics that are read after the time can be newer than the time, but never older.
  const values = Promise.all([reader.get(asOfKey(partition)), reader.get(statsKey(partition, code))])
  const found = await withCaughtUp(reader, LINK_STATS_VIEW, partition, values)
  if (found === NOT_CAUGHT_UP || found[0] === null) return NOT_CAUGHT_UP
  const [asOf, stats] = found
  return { asOf: Number(asOf), stats: stats === null ? undefined : (JSON.parse(stats) as StoredLinkStats) }
}

function statsKey(partition: number, code: string): string {
  return `${viewTag(LINK_STATS_VIEW, partition)}:stats:${code}`
}

function asOfKey(partition: number): string {
  return `${viewTag(LINK_STATS_VIEW, partition)}:as-of`
}
