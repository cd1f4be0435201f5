import type { Position } from '../../schemas/trends/places/positions.ts'
import { type Region, regions } from '../../schemas/trends/places/regions.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../kit/answer.ts'
import { closestCity } from './closest.ts'
import { placesNamed } from './place-names.ts'

/** Headers of answers about places. Caches may keep these answers, because places change only with a release. */
const HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=3600' }

const allPlaces = cacheableAnswer(JSON.stringify(regions.map(placeJson)), HEADERS)

/**
 * Returns all places. If a string is given, returns the places whose names contain a word that begins with this string.
 */
export function availablePlaces(text: string | undefined): Answer {
  return text === undefined ? allPlaces : cacheableAnswer(JSON.stringify(placesNamed(text).map(placeJson)), HEADERS)
}

export function closestPlace(position: Position): Answer {
  const { city, km } = closestCity(position)
  return cacheableAnswer(JSON.stringify({ ...placeJson(city), distance_km: km }), HEADERS)
}

function placeJson({ woeid, name, type, parent, country_code }: Region) {
  return { woeid, name, type, parent, country_code: country_code === '' ? null : country_code }
}
