import { foldTerm } from '../../../schemas/trends/term.ts'
import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'
import {
  NOT_CAUGHT_UP,
  VALUE_FIELD,
  VERSION_FIELD,
  type View,
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
 * | `{trends:<p>}:candidates:<woeid>` | line 1: head; then one candidate per line |
 *
 * The head is the window's end (epoch ms). In an incomplete list, the number of missing partitions follows a space.
 *
 * A candidate's line consists of its score, a tab, its term as JSON, a tab, and its other fields as a JSON array. Both
 * keys are written with `setIfNewer`: a newer window replaces an older one, and within one window a posted list
 * replaces the pipeline's list. A served entry is the JSON of a response entry without its rank. The writer renders it
 * once; readers only number and join entries. A reader renders a candidate only when a personal list includes it. JSON
 * contains no raw line break or tab, so lines and tabs need no escaping.
 */
export const TRENDS_VIEW = 'trends'

/** Number of entries of a list that are served; see docs/services/trends.md#lists. */
export const SERVED_ENTRIES = 30

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
  /** The names of the terms that are folded into this term. */
  readonly variants: readonly string[]
  /** JSON of the fields that `candidateText` needs. */
  readonly fields: string
  /** Set once the candidate has been rendered. */
  text?: EntryText
}

export interface CandidateList extends Versioned, Head {
  readonly candidates: readonly Candidate[]
}

export const trendsView: View<number, TrendOutput> = { name: TRENDS_VIEW, operationsFor }

function operationsFor(partition: number, _woeid: number, list: TrendOutput | null): ViewOperation[] {
  // Lists are never deleted, so their topics have no tombstones.
  if (list === null) return []
  const version = versionOf(list)
  const served = [headLine(list), ...list.entries.slice(0, SERVED_ENTRIES).map(entryText)]
  const candidates = [headLine(list), ...list.entries.map(candidateLine)]
  return [
    { op: 'setIfNewer', key: servedKey(partition, list.woeid), version, value: served.join('\n') },
    { op: 'setIfNewer', key: candidatesKey(partition, list.woeid), version, value: candidates.join('\n') },
  ]
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
 * @param known the list that was read last; it is returned again while it is still the stored one
 * @returns undefined when the region has no list yet
 */
export function readServed(
  reader: ViewReader,
  partition: number,
  woeid: number,
  known?: ServedList,
): Promise<ServedList | undefined | typeof NOT_CAUGHT_UP> {
  return readIfChanged(reader, partition, servedKey(partition, woeid), known, function parseServed(version, [head, ...entries]) {
    return { version, ...headOf(head), entries }
  })
}

/** Reads candidates, as `readServed` reads served lists. */
export function readCandidates(
  reader: ViewReader,
  partition: number,
  woeid: number,
  known?: CandidateList,
): Promise<CandidateList | undefined | typeof NOT_CAUGHT_UP> {
  return readIfChanged(reader, partition, candidatesKey(partition, woeid), known, function parseCandidates(version, [head, ...lines]) {
    return { version, ...headOf(head), candidates: lines.map(candidateOf) }
  })
}

/** Reads the version first, because a list takes several kilobytes and the known list is usually still current. */
async function readIfChanged<T extends Versioned>(
  reader: ViewReader,
  partition: number,
  key: string,
  known: T | undefined,
  parse: (version: string, lines: string[]) => T,
): Promise<T | undefined | typeof NOT_CAUGHT_UP> {
  const version = await withCaughtUp(reader, TRENDS_VIEW, partition, reader.hget(key, VERSION_FIELD))
  if (version === NOT_CAUGHT_UP || version === null) return version ?? undefined
  if (version === known?.version) return known
  // If a newer list is stored between the two reads, its version differs from the one read here, so the next call reads
  // the list again.
  const value = await withCaughtUp(reader, TRENDS_VIEW, partition, reader.hget(key, VALUE_FIELD))
  return value === NOT_CAUGHT_UP || value === null ? (value ?? undefined) : parse(version, value.split('\n'))
}

function headLine({ window_end, missing_partitions }: TrendOutput): string {
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
  // Entries from before these fields lack them.
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

function candidatesKey(partition: number, woeid: number): string {
  return `${viewTag(TRENDS_VIEW, partition)}:candidates:${woeid}`
}

/** The last fields in the line of a candidate below the best 100. Most candidates have exactly these fields. */
const NO_TOPIC = ',[],[],null]'
/** Index of the variants in the array of fields. */
const VARIANTS = 12
const NO_VARIANTS: readonly string[] = []

function candidateOf(line: string): Candidate {
  const first = line.indexOf('\t')
  const second = line.indexOf('\t', first + 1)
  const fields = line.slice(second + 1)
  const variants = fields.endsWith(NO_TOPIC) ? NO_VARIANTS : variantsIn(fields)
  return { score: Number(line.slice(0, first)), term: JSON.parse(line.slice(first + 1, second)), variants, fields }
}

type CandidateFields = [
  name: string,
  tweet_volume: number,
  volume_24h: number,
  velocity: number,
  velocity_vs_usual: number,
  label: TrendEntry['label'],
  trending_since: number,
  sample_tweets: string[],
  /** Lines that an earlier release wrote have neither this field nor the following fields. */
  rank_change?: number | null,
  peak_rank?: number | null,
  lang?: string | null,
  users?: number | null,
  variants?: string[],
  related?: string[],
  typical_tweet?: string | null,
]

/**
 * Builds the line without a generic serializer, because the sink writes 275,000 lines every 30 seconds. This takes 1.4
 * µs per candidate; rendering it as an entry takes 2.4 µs.
 */
function candidateLine(entry: TrendEntry): string {
  const { score, term, name, tweet_volume, volume_24h, velocity, velocity_vs_usual, label, trending_since, sample_tweets } = entry
  const { rank_change, peak_rank, lang, users, variants, related, typical_tweet } = entry
  // A language consists of letters.
  const language = lang === null ? 'null' : `"${lang}"`
  const labelled = label === null ? 'null' : `"${label}"`
  const samples = sample_tweets.length === 0 ? '' : `"${sample_tweets.join('","')}"`
  return `${score}\t${JSON.stringify(term)}\t[${JSON.stringify(name)},${tweet_volume},${volume_24h},${finite(velocity)},${finite(velocity_vs_usual)},${labelled},${trending_since},[${samples}],${rank_change},${peak_rank},${language},${users},${namesText(variants)},${namesText(related)},${typical_tweet === null ? 'null' : `"${typical_tweet}"`}]`
}

/** Nearly all candidates have none. */
function namesText(names: readonly string[]): string {
  return names.length === 0 ? '[]' : JSON.stringify(names)
}

function variantsIn(fields: string): readonly string[] {
  const variants = (JSON.parse(fields) as CandidateFields)[VARIANTS] ?? []
  return variants.map((name) => foldTerm(name) ?? name)
}

/** Returns the number, or null if JSON cannot represent it. */
function finite(number: number): number | null {
  return Number.isFinite(number) ? number : null
}

/** Returns the candidate as an entry of a list. The entry is rendered at most once. */
export function candidateText(candidate: Candidate): EntryText {
  if (candidate.text === undefined) {
    const fields = JSON.parse(candidate.fields) as CandidateFields
    const [name, tweet_volume, volume_24h, velocity, velocity_vs_usual, label, trending_since, sample_tweets, ...later] = fields
    const [rank_change = null, peak_rank = null, lang = null, users = null, variants = [], related = [], typical_tweet = null] = later
    const { term } = candidate
    const counts = { tweet_volume, volume_24h, velocity, velocity_vs_usual }
    candidate.text = render({
      name,
      term,
      ...counts,
      label,
      trending_since,
      sample_tweets,
      rank_change,
      peak_rank,
      lang,
      users,
      variants,
      related,
      typical_tweet,
    })
  }
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
