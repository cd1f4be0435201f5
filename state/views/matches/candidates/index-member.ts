import { type Cell, cellOf, geohashOf, type Place } from './cells.ts'
import type { Candidate } from './person.ts'

/**
 * A member of the candidate index: a string with all the data that filters and ranking need, so that a search only
 * reads ranges of sorted sets. The string starts with the geohash, so that a shorter geohash selects a lexical range.
 * The string is also the key of the record in `match-index`, because a tombstone contains only the key.
 */
export interface IndexMember extends Candidate {
  /** Version of the member, epoch ms. A user who moves is briefly in two cells, so readers use the newer member. */
  readonly version: number
}

/** Geohash precision of the cells of the index. Each cell has one sorted set, which is in one partition. */
export const INDEX_PRECISION = 4
const GEOHASH_CHARACTERS = 6
const SEPARATOR = '|'
const LIST_SEPARATOR = ','
/** Factor that turns degrees into whole numbers with a precision of five decimals, about a metre. */
const PLACE_SCALE = 100_000
const PERCENT = 100

/** Returns the geohash of the cell whose sorted set contains the member. */
export function indexCellOf(member: string): string {
  return member.slice(0, INDEX_PRECISION)
}

export function formatMember(member: IndexMember): string {
  const { userId, place, birthDate, gender, seekingGender, minAge, maxAge, elo, lastActiveAt, completeness, version } = member
  return [
    geohashOf(cellOf(place, GEOHASH_CHARACTERS)),
    userId,
    version.toString(36),
    Math.round(place.lat * PLACE_SCALE),
    Math.round(place.lon * PLACE_SCALE),
    birthDate,
    gender === undefined ? '' : encodeURIComponent(gender),
    seekingGender.map(encodeURIComponent).join(LIST_SEPARATOR),
    minAge,
    maxAge,
    Math.round(elo),
    lastActiveAt.toString(36),
    Math.round(completeness * PERCENT),
  ].join(SEPARATOR)
}

/**
 * Parses a member.
 * @throws RangeError if the string does not have 13 parts
 */
export function parseMember(text: string): IndexMember {
  const parts = text.split(SEPARATOR)
  if (parts.length !== 13) throw new RangeError('not a member of the candidate index')
  const [, userId, version, lat, lon, birthDate, gender, seeking, minAge, maxAge, elo, lastActiveAt, completeness] = parts
  return {
    userId,
    version: Number.parseInt(version, 36),
    place: { lat: Number(lat) / PLACE_SCALE, lon: Number(lon) / PLACE_SCALE },
    birthDate,
    gender: gender === '' ? undefined : decoded(gender),
    seekingGender: seeking === '' ? [] : seeking.split(LIST_SEPARATOR).map(decoded),
    minAge: Number(minAge),
    maxAge: Number(maxAge),
    elo: Number(elo),
    lastActiveAt: Number.parseInt(lastActiveAt, 36),
    completeness: Number(completeness) / PERCENT,
  }
}

/**
 * Decodes a percent-encoded text. A text without a percent sign is returned at once, because a search reads thousands
 * of members and most genders are plain letters.
 */
function decoded(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text
}

/**
 * Rounds coordinates as the index does. A later check of a candidate uses the rounded coordinates, so that the filters
 * give the same results as in the search.
 */
export function indexedPlace({ lat, lon }: Place): Place {
  return { lat: Math.round(lat * PLACE_SCALE) / PLACE_SCALE, lon: Math.round(lon * PLACE_SCALE) / PLACE_SCALE }
}

/** Returns the prefix of a member: its geohash and its user id. */
export function memberPrefix(member: string): string {
  return member.slice(0, member.indexOf(SEPARATOR, GEOHASH_CHARACTERS + 1))
}

/**
 * Returns the bounds of the lexical range that contains a cell's members.
 * @param after the prefix of the last member before the range; undefined selects all members
 */
export function memberRange(cell: Cell, after?: string): { readonly min: string; readonly max: string } {
  const geohash = geohashOf(cell)
  // The tilde sorts after every character that can follow a geohash or a prefix.
  return { min: after === undefined ? `[${geohash}` : `(${after}~`, max: `(${geohash}~` }
}
