import { type Region, regions } from '../../../schemas/trends/places/regions.ts'
import { integer, pick, type Random } from '../../random/random.ts'
import { type CityPick, cities, citiesOf, cityPick } from '../../tweets/places.ts'
import { madeUpWord } from './vocabulary.ts'

const MINUTE_MS = 60_000
/** Mean time between the starts of two successive bursts. */
const BEGINS_EVERY_MS = 4 * MINUTE_MS
const SHORTEST_MS = 8 * MINUTE_MS
const LONGEST_MS = 25 * MINUTE_MS
/** Bounds of a burst's share of all tweets at its peak. */
const SMALLEST_PEAK = 0.01
const GREATEST_PEAK = 0.06
/** Share of a burst's duration during which the burst rises. In the remaining time it fades. */
const RISE_SHARE = 0.25
const CITY_SHARE = 0.5
const COUNTRY_SHARE = 0.85

/** Kinds of events. All are cheerful, because invented bad news about real places could be mistaken for facts. */
const THINGS = ['Final', 'Concert', 'Derby', 'Parade', 'Premiere', 'Marathon', 'Festival', 'Regatta', 'Fair', 'Picnic', 'Tour', 'Album']

/** An event in one place that people there tweet about. */
export interface Burst {
  readonly hashtag: string
  readonly phrase: string
  readonly place: Region
  readonly pickCity: CityPick
  /** Epoch ms. */
  readonly begins: number
  readonly ends: number
  readonly peak: number
}

/** Creates a sequence of bursts. Equal random numbers give equal bursts. */
export function bursts(random: Random, startAt: number) {
  let all: Burst[] = [newBurst(random, startAt)]
  let next = startAt + gap()

  function gap(): number {
    return -Math.log(1 - random()) * BEGINS_EVERY_MS
  }

  function active(time: number): readonly Burst[] {
    while (next <= time) {
      all.push(newBurst(random, next))
      next += gap()
    }
    all = all.filter((burst) => burst.ends > time)
    return all
  }

  /** Draws the burst to which a tweet at this time belongs; undefined if it belongs to none. */
  function at(time: number): Burst | undefined {
    let chance = random()
    for (const burst of active(time)) {
      chance -= shareAt(burst, time)
      if (chance < 0) return burst
    }
    return undefined
  }

  return { at, active }
}

/** Returns the burst's share of all tweets. The share rises quickly to the peak and fades slowly. */
function shareAt({ begins, ends, peak }: Burst, time: number): number {
  const progress = (time - begins) / (ends - begins)
  return peak * (progress < RISE_SHARE ? progress / RISE_SHARE : ((1 - progress) / (1 - RISE_SHARE)) ** 2)
}

function newBurst(random: Random, begins: number): Burst {
  const place = placeOf(random)
  const thing = pick(random, THINGS)
  const name = capitalised(madeUpWord(random))
  const ends = begins + SHORTEST_MS + integer(random, LONGEST_MS - SHORTEST_MS)
  return {
    hashtag: `#${name}${thing}`,
    phrase: `${name} ${thing.toLowerCase()}`,
    place,
    pickCity: cityPick(citiesIn(place)),
    begins,
    ends,
    peak: SMALLEST_PEAK + random() * (GREATEST_PEAK - SMALLEST_PEAK),
  }
}

function placeOf(random: Random): Region {
  const chance = random()
  const city = cityPick(cities)(random)
  if (chance < CITY_SHARE) return city
  const type = chance < COUNTRY_SHARE ? 'Country' : 'Supername'
  return regions.find((region) => region.type === type && (type === 'Supername' || region.woeid === city.parent)) as Region
}

function citiesIn(place: Region): readonly Region[] {
  if (place.type === 'Town') return [place]
  return place.type === 'Country' ? citiesOf([place.country_code]) : cities
}

function capitalised(word: string): string {
  return word[0].toUpperCase() + word.slice(1)
}
