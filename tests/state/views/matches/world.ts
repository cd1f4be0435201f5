import { partitionFor } from '../../../../kafka/partitioner.ts'
import type { Place } from '../../../../state/views/matches/candidates/cells.ts'
import { ACTIVE_WITHIN_MS } from '../../../../state/views/matches/candidates/filters.ts'
import { formatMember, type IndexMember, indexCellOf, indexedPlace } from '../../../../state/views/matches/candidates/index-member.ts'
import type { Viewer } from '../../../../state/views/matches/candidates/person.ts'
import { inOrder, type Ranked, scoreOf } from '../../../../state/views/matches/candidates/ranking.ts'
import { matchIndexView } from '../../../../state/views/matches/index-cells.ts'
import { type Found, findCandidates, type SearchBounds, type SearchPlace } from '../../../../state/views/matches/search.ts'
import type { InterestReader } from '../../../../state/views/matches/viewer.ts'
import { type ListReader, NOT_CAUGHT_UP, type ViewReader } from '../../../../state/views/view.ts'
import type { Person } from '../../../../tools/people/people.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'

const PARTITIONS = 64
const HOUR_MS = 3_600_000
const EARTH_RADIUS_KM = 6371.0088
const RADIANS = Math.PI / 180
/** Maximum age of a user's last activity in these tests. It exceeds what the filter accepts. */
const IDLE_FOR_AT_MOST_MS = 1.2 * ACTIVE_WITHIN_MS

/** Search options without limits. With these, one search finds all users who pass the filters. */
export const NO_BOUNDS: SearchBounds = { stackSize: 1e9, examinedPerStep: 1e9, examinedInAll: 1e9, ringCells: 1e9 }

/** A set of users, stored both in an index like the one in Redis and in a plain list. */
export interface World {
  readonly viewers: readonly Viewer[]
  /**
   * Returns the ids of all users that at most `most` searches find. Each search continues where the previous one
   * stopped.
   */
  searchOn(viewer: Viewer, bounds: SearchBounds, most: number): Promise<Set<string>>
  search(viewer: Viewer, excluded: ReadonlySet<string>, bounds?: SearchBounds): Promise<Ranked[]>
  /** Returns all users in the list who pass the filters, best first. `among` restricts the list. */
  bruteForce(viewer: Viewer, among?: (place: Place) => boolean): Ranked[]
}

export function worldOf(people: readonly Person[], now: number): World {
  const random = seededRandom(5)
  const viewers = people.map(({ userId, birthDate, gender, seekingGender, minAge, maxAge, maxDistanceKm, place }) => ({
    userId,
    place: indexedPlace(place),
    birthDate,
    gender,
    seekingGender,
    minAge,
    maxAge,
    maxDistanceKm,
    elo: 1_000 + integer(random, 1_000),
    lastActiveAt: now - integer(random, Math.floor(IDLE_FOR_AT_MOST_MS / HOUR_MS)) * HOUR_MS,
    completeness: integer(random, 5) / 4,
  }))
  const reader = lexicalReader(viewers.map((viewer) => formatMember({ ...viewer, version: now } satisfies IndexMember)))
  const deps = { reader, partitionOf: partitionOfCell, now }
  const today = new Date(now).toISOString()

  async function found(viewer: Viewer, excluded: ReadonlySet<string>, bounds?: SearchBounds, from?: SearchPlace): Promise<Found> {
    const interestsOf: InterestReader = async (userIds) => new Map(userIds.filter((id) => !excluded.has(id)).map((id) => [id, 'none']))
    const result = await findCandidates(viewer, { ...deps, interestsOf, ...(bounds && { bounds }) }, from)
    if (result === NOT_CAUGHT_UP) throw new Error('unexpected: the view has not caught up')
    return result
  }

  return {
    viewers,
    async search(viewer, excluded, bounds) {
      return (await found(viewer, excluded, bounds)).ranked
    },
    async searchOn(viewer, bounds, most) {
      const ids = new Set<string>()
      let from: SearchPlace | undefined
      for (let search = 0; search < most; search++) {
        const { ranked, stoppedAt } = await found(viewer, new Set(), bounds, from)
        for (const { candidate } of ranked) ids.add(candidate.userId)
        from = stoppedAt
        if (from === undefined) break
      }
      return ids
    },
    bruteForce: (viewer, among = () => true) =>
      viewers
        .filter((other) => among(other.place) && suits(viewer, other, now, today))
        .map((candidate) => ({ candidate, interest: 'none' as const, score: scoreOf(viewer, candidate, 'none', now) }))
        .sort(inOrder),
  }
}

/**
 * Implements the filters as documented, without using any code of the search.
 * @param today the date of `now`, ISO 8601; millions of pairs share it, and computing it takes longer than all filters
 */
function suits(viewer: Viewer, other: Viewer, now: number, today: string): boolean {
  const seeks = (one: Viewer, who: Viewer) => one.seekingGender.length === 0 || one.seekingGender.includes(who.gender as string)
  const ageSuits = (one: Viewer, age: number) => age >= one.minAge && age <= one.maxAge
  return (
    viewer.userId !== other.userId &&
    seeks(viewer, other) &&
    seeks(other, viewer) &&
    now - other.lastActiveAt <= ACTIVE_WITHIN_MS &&
    ageSuits(viewer, yearsOf(other.birthDate, today)) &&
    ageSuits(other, yearsOf(viewer.birthDate, today)) &&
    angularDistanceKm(viewer.place, other.place) <= viewer.maxDistanceKm
  )
}

/**
 * Computes ages by comparing dates as text. This is exact here, because no user was born on a 29 February that would
 * make a difference.
 */
function yearsOf(birthDate: string, today: string): number {
  return Number(today.slice(0, 4)) - Number(birthDate.slice(0, 4)) - Number(today.slice(5, 10) < birthDate.slice(5))
}

/**
 * Computes the distance from the angle between two vectors from the earth's centre, and not with the haversine formula.
 */
function angularDistanceKm(a: Place, b: Place): number {
  const [ax, ay, az] = vectorTo(a)
  const [bx, by, bz] = vectorTo(b)
  const cross = Math.hypot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
  return EARTH_RADIUS_KM * Math.atan2(cross, ax * bx + ay * by + az * bz)
}

function vectorTo({ lat, lon }: Place): readonly [number, number, number] {
  const along = Math.cos(lat * RADIANS)
  return [along * Math.cos(lon * RADIANS), along * Math.sin(lon * RADIANS), Math.sin(lat * RADIANS)]
}

function partitionOfCell(geohash4: string): number {
  return partitionFor(Buffer.from(geohash4), PARTITIONS)
}

/** Stores members under the view's keys and answers lexical range queries, like sorted sets with equal scores. */
function lexicalReader(members: readonly string[]): ListReader & Pick<ViewReader, 'get'> {
  const sets = new Map<string, string[]>()
  for (const member of members.toSorted()) {
    const partition = partitionOfCell(indexCellOf(member))
    for (const operation of matchIndexView.operationsFor(partition, member, { user_id: '' })) {
      if (operation.op !== 'zadd') throw new Error(`unexpected: the index is written by ${operation.op}`)
      const set = sets.get(operation.key)
      if (set === undefined) sets.set(operation.key, [operation.member])
      else set.push(operation.member)
    }
  }
  const unused = () => Promise.reject(new Error('unexpected: the search reads something other than a lexical range'))
  return {
    // All partitions of the index have caught up.
    get: async () => '1',
    hmget: unused,
    mget: unused,
    hgetall: unused,
    zcard: unused,
    zrange: unused,
    zrevrange: unused,
    async zrangebylex(key, min, max, offset, count) {
      const set = sets.get(key) ?? []
      const from = firstAtLeast(set, min.slice(1)) + offset
      return set.slice(from, Math.min(from + count, firstAtLeast(set, max.slice(1))))
    },
  }
}

function firstAtLeast(sorted: readonly string[], text: string): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (sorted[middle] < text) from = middle + 1
    else to = middle
  }
  return from
}
