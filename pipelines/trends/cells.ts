import type { TermForm } from '../../schemas/trends/types.ts'
import type { ByteSpan } from '../engine/index.ts'
import { addAllDrawn, addDrawnSample, type DrawnTweets, NONE_DRAWN } from './drawn-tweets.ts'
import { addForm } from './forms.ts'
import { addRepeats, type Repeat } from './repeats.ts'
import { addSample, SAMPLE_BYTES, type SampledTweet, type Samples, samplesOf } from './samples.ts'

/**
 * The contributions to a term from tweets of one place. They are counted in the place itself and in all larger regions
 * that contain the place.
 */
export interface TermCell {
  /** The woeid of the smallest region in which the tweets are counted. */
  readonly place: number
  /** Minutes since 1970. */
  readonly minutes: number[]
  /** For each element of `minutes`, the number of contributions in that minute. */
  readonly counts: number[]
  readonly forms: TermForm[]
  samples: Samples
  repeats: readonly Repeat[]
  /** Tweets drawn from those that are not among the samples. */
  drawn: DrawnTweets
}

/** One contribution of a tweet to a term. */
export interface Contribution {
  /** The woeid of the smallest region in which the tweet is counted. */
  readonly place: number
  /** The spelling in the tweet. */
  readonly original: string
  readonly minute: number
  readonly tweet: SampledTweet
  readonly repeats: readonly Repeat[]
}

/** A `Contribution` whose spelling is given as bytes. */
export interface ByteContribution {
  readonly place: number
  readonly minute: number
  readonly tweet: SampledTweet
  readonly original: Readonly<ByteSpan>
  readonly repeats: readonly Repeat[]
}

export function newCell({ place, original, minute, tweet, repeats }: Contribution): TermCell {
  const forms = [{ form: original, count: 1 }]
  return { place, minutes: [minute], counts: [1], forms, samples: samplesOf(tweet), repeats, drawn: NONE_DRAWN }
}

export function addTweet(cell: TermCell, { original, minute, tweet, repeats }: Contribution): void {
  addMinute(cell, minute, 1)
  addForm(cell.forms, original, 1)
  addNewest(cell, samplesOf(tweet), 0)
  cell.repeats = addRepeats(cell.repeats, repeats)
}

/** Adds the sample at position `at` of `from`. A tweet that is not kept as a sample may be drawn instead. */
export function addNewest(to: Pick<TermCell, 'samples' | 'drawn'>, from: Buffer, at: number): void {
  const leftOut = addSample(to, from, at)
  if (leftOut !== undefined) to.drawn = addDrawnSample(to.drawn, leftOut)
}

export function addAllNewest(to: Pick<TermCell, 'samples' | 'drawn'>, samples: Samples): void {
  for (let at = 0; at < samples.length; at += SAMPLE_BYTES) addNewest(to, samples, at)
}

/** Adds the contributions of another cell of the same place. */
export function addCell(cell: TermCell, other: TermCell): void {
  for (let i = 0; i < other.minutes.length; i++) addMinute(cell, other.minutes[i], other.counts[i])
  for (const { form, count } of other.forms) addForm(cell.forms, form, count)
  addAllNewest(cell, other.samples)
  cell.drawn = addAllDrawn(cell.drawn, other.drawn)
  cell.repeats = addRepeats(cell.repeats, other.repeats)
}

function addMinute(cell: TermCell, minute: number, count: number): void {
  const place = cell.minutes.indexOf(minute)
  if (place >= 0) {
    cell.counts[place] += count
    return
  }
  cell.minutes.push(minute)
  cell.counts.push(count)
}
