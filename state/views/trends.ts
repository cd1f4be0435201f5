import type { TrendEntry, TrendOutput } from '../../schemas/types.ts'
import { NOT_CAUGHT_UP, VALUE_FIELD, type View, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from './view.ts'

/**
 * The newest list of each region. Fed by `trend-output` and `trend-renewals`, partitioned as they are.
 *
 * | key | value |
 * |---|---|
 * | `{trends:<p>}:served:<woeid>` | line 1: window end (epoch ms); then the entries that are served, best first, one per line |
 * | `{trends:<p>}:candidates:<woeid>` | line 1: the same; then every candidate: score, tab, term as JSON, tab, entry |
 *
 * Both are written with `setIfNewer`: a newer window wins; of one window the list that was posted wins over the pipeline's own.
 * An entry is the JSON of a response entry without its rank, rendered once by the writer: readers number and join.
 * JSON has no raw line break or tab, so lines and tabs need no escaping.
 */
export const TRENDS_VIEW = 'trends'

/** Entries that a list serves (specification A, limits). */
export const SERVED_ENTRIES = 30

/** JSON of one response entry without its opening `{"rank":n,`. */
export type EntryText = string

export interface ServedList {
  /** The stored text: equal texts are equal lists. */
  readonly source: string
  /** Epoch ms. */
  readonly windowEnd: number
  readonly entries: readonly EntryText[]
}

export interface Candidate {
  readonly term: string
  readonly score: number
  readonly entry: EntryText
}

export interface CandidateList {
  /** Epoch ms. */
  readonly windowEnd: number
  readonly candidates: readonly Candidate[]
}

export const trendsView: View<number, TrendOutput> = { name: TRENDS_VIEW, operationsFor }

function operationsFor(partition: number, _woeid: number, list: TrendOutput | null): ViewOperation[] {
  // Lists are never deleted: their topics have no tombstones.
  if (list === null) return []
  const version = versionOf(list)
  const entries = list.entries.map(entryText)
  const served = [list.window_end, ...entries.slice(0, SERVED_ENTRIES)]
  const candidates = [
    list.window_end,
    ...list.entries.map((entry, rank) => `${entry.score}\t${JSON.stringify(entry.term)}\t${entries[rank]}`),
  ]
  return [
    { op: 'setIfNewer', key: servedKey(partition, list.woeid), version, value: served.join('\n') },
    { op: 'setIfNewer', key: candidatesKey(partition, list.woeid), version, value: candidates.join('\n') },
  ]
}

/** Grows with the window's end; a posted list is half a step above the pipeline's of the same window. */
export function versionOf(list: Pick<TrendOutput, 'window_end' | 'source'>): number {
  return list.window_end * 2 + (list.source === 'endpoint' ? 1 : 0)
}

/** @returns undefined when the region has no list yet */
export async function readServed(
  reader: ViewReader,
  partition: number,
  woeid: number,
): Promise<ServedList | undefined | typeof NOT_CAUGHT_UP> {
  const value = await withCaughtUp(reader, TRENDS_VIEW, partition, reader.hget(servedKey(partition, woeid), VALUE_FIELD))
  if (value === NOT_CAUGHT_UP || value === null) return value ?? undefined
  const [windowEnd, ...entries] = value.split('\n')
  return { source: value, windowEnd: Number(windowEnd), entries }
}

/** @returns undefined when the region has no list yet */
export async function readCandidates(
  reader: ViewReader,
  partition: number,
  woeid: number,
): Promise<CandidateList | undefined | typeof NOT_CAUGHT_UP> {
  const value = await withCaughtUp(reader, TRENDS_VIEW, partition, reader.hget(candidatesKey(partition, woeid), VALUE_FIELD))
  if (value === NOT_CAUGHT_UP || value === null) return value ?? undefined
  const [windowEnd, ...lines] = value.split('\n')
  return { windowEnd: Number(windowEnd), candidates: lines.map(candidateOf) }
}

/** The entries as a JSON array, ranks from 1. */
export function renderEntries(entries: readonly EntryText[]): string {
  return `[${entries.map((entry, index) => `{"rank":${index + 1},${entry}`).join(',')}]`
}

function servedKey(partition: number, woeid: number): string {
  return `${viewTag(TRENDS_VIEW, partition)}:served:${woeid}`
}

function candidatesKey(partition: number, woeid: number): string {
  return `${viewTag(TRENDS_VIEW, partition)}:candidates:${woeid}`
}

function candidateOf(line: string): Candidate {
  const first = line.indexOf('\t')
  const second = line.indexOf('\t', first + 1)
  return { score: Number(line.slice(0, first)), term: JSON.parse(line.slice(first + 1, second)), entry: line.slice(second + 1) }
}

function entryText(entry: TrendEntry): EntryText {
  const fields = {
    name: entry.name,
    query: encodeURIComponent(entry.name),
    term: entry.term,
    tweet_volume: entry.tweet_volume,
    volume_24h: entry.volume_24h,
    velocity: entry.velocity,
    velocity_vs_usual: entry.velocity_vs_usual,
    label: entry.label,
    trending_since: new Date(entry.trending_since).toISOString(),
    sample_tweets: entry.sample_tweets.map(String),
  }
  return JSON.stringify(fields).slice(1)
}
