import { foldTerm } from '../../schemas/trends/term.ts'
import { trendOutput } from '../../schemas/trends/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { readSnapshot, type Snapshot, type SnapshotEntry, trendSnapshots } from '../../state/tables/trends/trend-snapshots.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../kit/answer.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { shortCache } from '../kit/short-cache.ts'
import { trendsErrors } from './errors.ts'
import type { HiddenTerms } from './hidden/hidden.ts'
import { knownRegion } from './regions.ts'

export interface PastQuery {
  readonly woeid: number
  /** Epoch ms. */
  readonly at: number
  readonly limit: number
  readonly safe: boolean
}

export interface PastOptions {
  readonly reader: TableReader
  readonly facts: Pick<Facts, 'partitionsOf'>
  readonly hidden: HiddenTerms
  /** Epoch ms. */
  now(): number
}

/** Maximum age of a snapshot at the requested time. It equals the maximum age of a served list. */
const MAX_AGE_SECONDS = 180
const MS_PER_SECOND = 1_000
/** How long a snapshot is cached. The time is short, because a posted list may still replace the snapshot. */
const KEPT_MS = 5_000
const MAX_KEPT_SNAPSHOTS = 256
const RETRY_AFTER_SECONDS = 5
/**
 * Headers of past lists. Caches may keep a past list only for a short time, because some of its terms may be blocked
 * later.
 */
const HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=30' }

/** Returns a function that reads past lists. */
export function pastLists({ reader, facts, hidden, now }: PastOptions): (query: PastQuery) => Promise<Answer> {
  const snapshots = shortCache({ load, keptMs: KEPT_MS, maxEntries: MAX_KEPT_SNAPSHOTS, now })

  async function load(key: string): Promise<Snapshot | undefined> {
    const [woeid, from, to] = JSON.parse(key) as [number, number, number]
    const found = await readSnapshot(reader, { woeid, from, to })
    // The check runs after the read, so that it also detects a table that was recreated during the read.
    const [caughtUp] = await caughtUpPartitions(reader, trendSnapshots.name)
    if (caughtUp < facts.partitionsOf(trendOutput)) {
      const message = 'The past lists are still being loaded. Try again shortly.'
      throw new ApiError(errors.not_ready, { message, retryAfter: RETRY_AFTER_SECONDS })
    }
    return found
  }

  return async function readPast({ woeid, at, limit, safe }) {
    const region = knownRegion(woeid)
    const seconds = at / MS_PER_SECOND
    const snapshot = await snapshots.get(JSON.stringify([region.woeid, Math.ceil(seconds) - MAX_AGE_SECONDS, Math.floor(seconds)]))
    if (snapshot === undefined) throw new ApiError(trendsErrors.past_list_not_found)
    const hides = hidden.test(safe)
    const shown = hides === undefined ? snapshot.entries : snapshot.entries.flatMap((entry) => withoutHidden(entry, hides) ?? [])
    const body = {
      as_of: new Date(snapshot.windowEnd).toISOString(),
      location: { woeid: region.woeid, name: region.name },
      trends: shown.slice(0, limit).map(entryJson),
    }
    return cacheableAnswer(JSON.stringify(body), HEADERS)
  }
}

function withoutHidden(entry: SnapshotEntry, hides: (term: string) => boolean): SnapshotEntry | undefined {
  if (hides(entry.term)) return undefined
  return { ...entry, variants: entry.variants.filter((name) => !hides(foldTerm(name) ?? '')) }
}

function entryJson(entry: SnapshotEntry, index: number) {
  const { name, term, tweet_volume, volume_24h, velocity, velocity_vs_usual, label, trending_since, sample_tweets, users, variants } = entry
  return {
    rank: index + 1,
    name,
    query: encodeURIComponent(name),
    term,
    tweet_volume,
    volume_24h,
    velocity,
    velocity_vs_usual,
    label: label === '' ? null : label,
    trending_since: trending_since === null ? null : new Date(trending_since).toISOString(),
    sample_tweets,
    users,
    variants,
  }
}
