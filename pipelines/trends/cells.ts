import { pathOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import type { SampleTweet, TermForm, Tweet } from '../../schemas/trends/types.ts'
import { addForm } from './forms.ts'
import { type LanguageCode, languageCode } from './languages.ts'
import { addSample } from './samples.ts'

/** The contributions to a term from tweets of one place. They count in all regions of the place's path. */
export interface TermCell {
  /** The woeid where the tweets count first. */
  readonly place: number
  /** Minutes since 1970. */
  readonly minutes: number[]
  /** Contributions of the minute at the same position. */
  readonly counts: number[]
  readonly forms: TermForm[]
  /** The newest tweets of distinct users, newest first. */
  readonly samples: SampleTweet[]
}

export function newCell(place: number, original: string, minute: number, tweet: SampleTweet | Tweet): TermCell {
  return { place, minutes: [minute], counts: [1], forms: [{ form: original, count: 1 }], samples: [sampleOf(tweet)] }
}

export function addTweet(cell: TermCell, original: string, minute: number, tweet: SampleTweet | Tweet): void {
  addMinute(cell, minute, 1)
  addForm(cell.forms, original, 1)
  addSample(cell.samples, sampleOf(tweet))
}

function sampleOf({ tweet_id, user_id, created_at, lang }: SampleTweet | Tweet): SampleTweet {
  return { tweet_id, user_id, created_at, lang: codeOf(lang) }
}

/** Samples have a code instead of a tag. */
export function codeOf(lang: SampleTweet['lang'] | Tweet['lang']): LanguageCode {
  return typeof lang === 'number' ? lang : languageCode(lang)
}

/** Adds the contributions of another cell of the same place. */
export function addCell(cell: TermCell, other: TermCell): void {
  for (let i = 0; i < other.minutes.length; i++) addMinute(cell, other.minutes[i], other.counts[i])
  for (const { form, count } of other.forms) addForm(cell.forms, form, count)
  for (const sample of other.samples) addSample(cell.samples, sample)
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

/** Returns the regions in which tweets of a place count. A place is a region, so it has a path. */
export function regionsOf(place: number): readonly number[] {
  return pathOf(place) ?? ONLY_WORLDWIDE
}

const ONLY_WORLDWIDE = [WORLDWIDE]
