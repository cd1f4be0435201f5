import { crc32 } from 'node:zlib'
import { HEADER_BYTES, hasHeader, writeHeader } from '../../../schemas/avro/value.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { foldTerm } from '../../../schemas/trends/term.ts'
import { trendOutput } from '../../../schemas/trends/topics.ts'
import type { TrendListBytes } from '../../../schemas/trends/trend-list-bytes.ts'
import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'
import {
  type BinaryReader,
  NOT_CAUGHT_UP,
  VALUE_FIELD,
  VERSION_FIELD,
  type View,
  type ViewContext,
  type ViewOperation,
  type ViewReader,
  viewTag,
  withCaughtUp,
} from '../view.ts'

/**
 * The newest list of each region. Fed by `trend-output` and `trend-renewals` and partitioned like them.
 *
 * | key | value |
 * |---|---|
 * | `{trends:<p>}:served:<woeid>` | line 1: head; then one served entry per line, best first |
 * | `{trends:<p>}:list:<woeid>` | the whole list as Avro, after the id of its format |
 *
 * The head is the window's end (epoch ms). If the list is incomplete, a space and the number of missing partitions
 * follow.
 *
 * Both keys are written with `setIfNewer`: a newer window replaces an older one, and within one window a posted list
 * replaces the pipeline's list. A served entry is the JSON of a response entry without its rank. The writer renders it,
 * so readers only number and join entries, unless terms are hidden. JSON contains no raw line break, so lines need no
 * escaping.
 *
 * The whole list is copied as it is, because rendering 500 entries of 551 lists twice a minute would cost more than
 * everything else that the sink does. A reader decodes it only for personal lists, and to replace hidden entries.
 */
export const TRENDS_VIEW = 'trends'

/**
 * Age at which a list is no longer written to the view. No reader serves a list that is older than 3 minutes, and the
 * clocks of two processes may differ by a minute.
 */
const MAX_AGE_MS = 300_000

/**
 * Age of the oldest records that a sink reads when it rebuilds the view. The timestamp of a record is the end of its
 * window. Only the timestamp of a posted list is later: the time at which the list was posted.
 */
const NEEDED_MS = 2 * MAX_AGE_MS

/** Number of entries of a list that are served; see docs/services/trends.md#lists. */
export const SERVED_ENTRIES = 30

/**
 * Id of the format in which whole lists are stored. It changes with the schema, so that a reader can ignore lists that
 * a different version of the program has written in a different format.
 */
const LIST_FORMAT = crc32(JSON.stringify(trendOutput.value.schema)) & 0xffff
const wholeLists: Codec<TrendOutput> = trendOutput.value.open(LIST_FORMAT, { get: () => undefined })

/** The JSON of one response entry without its opening `{"rank":n,`. */
export type EntryText = string

interface Versioned {
  /** The stored version, which changes with every new list. */
  readonly version: string
}

interface Head {
  /** Epoch ms. */
  readonly windowEnd: number
  /** Number of pipeline partitions that the list lacks; 0 if it is complete. */
  readonly missing: number
}

export interface ServedList extends Versioned, Head {
  readonly entries: readonly EntryText[]
}

export interface Candidate {
  readonly term: string
  readonly score: number
  /** The variants of the term, each in folded form. */
  readonly variants: readonly string[]
  readonly entry: TrendEntry
  /** Set once the candidate has been rendered. */
  text?: EntryText
}

export interface CandidateList extends Versioned, Head {
  readonly candidates: readonly Candidate[]
}

export const trendsView: View<number, TrendListBytes> = { name: TRENDS_VIEW, neededMs: NEEDED_MS, operationsFor }

function operationsFor(partition: number, _woeid: number, list: TrendListBytes | null, context?: ViewContext): ViewOperation[] {
  // Lists are never deleted, so their topics have no tombstones.
  if (list === null) return []
  if (context !== undefined && list.window_end < context.now - MAX_AGE_MS) return []
  const version = versionOf(list)
  const served = [headLine(list), ...list.first(SERVED_ENTRIES).map(entryText)]
  return [
    { op: 'setIfNewer', key: servedKey(partition, list.woeid), version, value: served.join('\n') },
    { op: 'setIfNewer', key: listKey(partition, list.woeid), version, value: wholeList(list) },
    // Deletes the candidates that earlier versions of the software stored as text. Nothing reads them now.
    { op: 'del', key: `${viewTag(TRENDS_VIEW, partition)}:candidates:${list.woeid}` },
  ]
}

function wholeList({ body }: TrendListBytes): Buffer {
  const out = { buffer: Buffer.allocUnsafe(HEADER_BYTES + body.length), length: 0, reserve() {} }
  writeHeader(LIST_FORMAT, out)
  body.copy(out.buffer, out.length)
  return out.buffer
}

/**
 * Returns a version that grows with the window's end. A posted list ranks above the pipeline's list of the same window,
 * and below the next window.
 */
export function versionOf(list: Pick<TrendOutput, 'window_end' | 'source'>): number {
  return list.window_end * 2 + (list.source === 'endpoint' ? 1 : 0)
}

/**
 * Reads the served list of a region.
 * @param known the list from the previous read, which is returned again if it is still the stored list
 * @returns undefined when the region has no list yet
 */
export function readServed(
  reader: ViewReader,
  partition: number,
  woeid: number,
  known?: ServedList,
): Promise<ServedList | undefined | typeof NOT_CAUGHT_UP> {
  const key = servedKey(partition, woeid)
  return readIfChanged(reader, partition, key, known, async function readText(version) {
    const value = await reader.hget(key, VALUE_FIELD)
    if (value === null) return undefined
    const [head, ...entries] = value.split('\n')
    return { version, ...headOf(head), entries }
  })
}

/**
 * Reads candidates, as `readServed` reads served lists.
 * @returns undefined also when the list is in a different format
 */
export function readCandidates(
  reader: ViewReader & Pick<BinaryReader, 'hmgetBuffer'>,
  partition: number,
  woeid: number,
  known?: CandidateList,
): Promise<CandidateList | undefined | typeof NOT_CAUGHT_UP> {
  const key = listKey(partition, woeid)
  return readIfChanged(reader, partition, key, known, async function readBytes(version) {
    const [value] = await reader.hmgetBuffer(key, [VALUE_FIELD])
    if (value === null || !hasHeader(LIST_FORMAT, value, 0, value.length)) return undefined
    const { window_end, missing_partitions, entries } = wholeLists.decode(value, 0, value.length)
    return { version, windowEnd: window_end, missing: missing_partitions, candidates: entries.map(candidateOf) }
  })
}

/** Reads the version first, because a list takes several kilobytes and the known list is usually still current. */
async function readIfChanged<T extends Versioned>(
  reader: ViewReader,
  partition: number,
  key: string,
  known: T | undefined,
  read: (version: string) => Promise<T | undefined>,
): Promise<T | undefined | typeof NOT_CAUGHT_UP> {
  const version = await withCaughtUp(reader, TRENDS_VIEW, partition, reader.hget(key, VERSION_FIELD))
  if (version === NOT_CAUGHT_UP || version === null) return version ?? undefined
  if (version === known?.version) return known
  // If a newer list is stored between the two reads, its version differs from the one read here, so the next call reads
  // the list again.
  return await withCaughtUp(reader, TRENDS_VIEW, partition, read(version))
}

function headLine({ window_end, missing_partitions }: TrendListBytes): string {
  return missing_partitions === 0 ? String(window_end) : `${window_end} ${missing_partitions}`
}

function headOf(line: string): Head {
  const [windowEnd, missing = 0] = line.split(' ').map(Number)
  return { windowEnd, missing }
}

/**
 * Removes hidden terms from a rendered entry.
 * @returns undefined if the term of the entry itself is hidden
 */
export function withoutHidden(entry: EntryText, hides: (term: string) => boolean): EntryText | undefined {
  const fields = JSON.parse(`{${entry}`) as RenderedEntry
  if (hides(fields.term)) return undefined
  // Entries that were rendered before these fields existed lack them.
  const { variants = [], related = [] } = fields
  const isShown = (name: string) => !hides(foldTerm(name) ?? '')
  if (variants.every(isShown) && related.every(isShown)) return entry
  return JSON.stringify({ ...fields, variants: variants.filter(isShown), related: related.filter(isShown) }).slice(1)
}

/** Returns the entries as a JSON array, with ranks from 1. */
export function renderEntries(entries: readonly EntryText[]): string {
  return `[${entries.map((entry, index) => `{"rank":${index + 1},${entry}`).join(',')}]`
}

function servedKey(partition: number, woeid: number): string {
  return `${viewTag(TRENDS_VIEW, partition)}:served:${woeid}`
}

function listKey(partition: number, woeid: number): string {
  return `${viewTag(TRENDS_VIEW, partition)}:list:${woeid}`
}

function candidateOf(entry: TrendEntry): Candidate {
  const { term, score, variants } = entry
  return { term, score, variants: variants.length === 0 ? variants : variants.map((name) => foldTerm(name) ?? name), entry }
}

/** Returns the candidate as an entry of a list. The entry is rendered at most once. */
export function candidateText(candidate: Candidate): EntryText {
  candidate.text ??= entryText(candidate.entry)
  return candidate.text
}

function entryText(entry: TrendEntry): EntryText {
  const { sample_tweets, typical_tweet } = entry
  return render({
    ...entry,
    sample_tweets: sample_tweets.map(String),
    typical_tweet: typical_tweet === null ? null : String(typical_tweet),
  })
}

type RenderedEntry = Omit<TrendEntry, 'score' | 'sample_tweets' | 'typical_tweet'> & {
  sample_tweets: string[]
  typical_tweet: string | null
}

function render(entry: RenderedEntry): EntryText {
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
    sample_tweets: entry.sample_tweets,
    rank_change: entry.rank_change,
    peak_rank: entry.peak_rank,
    lang: entry.lang,
    users: entry.users,
    variants: entry.variants,
    related: entry.related,
    typical_tweet: entry.typical_tweet,
  }
  return JSON.stringify(fields).slice(1)
}
