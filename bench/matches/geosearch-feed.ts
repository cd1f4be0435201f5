/**
 * A feed that finds its candidates with GEOSEARCH, nearest first. It filters and ranks like Millrace's feed, but checks
 * no tokens or rate limits, and stores no stacks. Arguments: address of Redis, key of the geo set, and number of
 * partitions of the user view.
 */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { partitionFor } from '../../kafka/partitioner.ts'
import type { MatchProfile } from '../../schemas/matches/types.ts'
import { shownDistanceKm } from '../../state/views/matches/candidates/distance.ts'
import { passes } from '../../state/views/matches/candidates/filters.ts'
import { parseMember } from '../../state/views/matches/candidates/index-member.ts'
import type { Viewer } from '../../state/views/matches/candidates/person.ts'
import { inOrder, type Ranked, scoreOf } from '../../state/views/matches/candidates/ranking.ts'
import { userKeys } from '../../state/views/matches/users.ts'
import { exclusionsOf, type InterestReader, interestReader, placeOf, readUser, viewerAt } from '../../state/views/matches/viewer.ts'
import { viewReader } from '../../state/views/reader.ts'
import { NOT_CAUGHT_UP } from '../../state/views/view.ts'

/**
 * Numbers of nearest users to examine. If too few users pass the filters to fill a stack, the search is repeated with
 * the next number. Millrace's own feed examines at most 2,000 users per step and 5,000 in total.
 */
const STEPS = [500, 2_000, 5_000]
const STACK_SIZE = 50
const SHOWN = 20

const [address, geoKey, partitions] = process.argv.slice(2)
const redis = new Redis(address, { enableAutoPipelining: true })
const reader = viewReader(redis)
const partitionOf = (userId: string) => partitionFor(Buffer.from(userId), Number(partitions))

async function search(viewer: Viewer, interestsOf: InterestReader, now: number): Promise<Ranked[]> {
  let found: Ranked[] = []
  for (const count of STEPS) {
    const { lat, lon } = viewer.place
    const members = await redis.geosearch(geoKey, 'FROMLONLAT', lon, lat, 'BYRADIUS', viewer.maxDistanceKm, 'km', 'ASC', 'COUNT', count)
    const suitable = (members as string[]).map(parseMember).filter((member) => passes(viewer, member, now))
    const interests = await interestsOf(suitable.map(({ userId }) => userId))
    if (interests === NOT_CAUGHT_UP) return []
    found = suitable.flatMap((candidate) => {
      const interest = interests.get(candidate.userId)
      return interest === undefined ? [] : [{ candidate, interest, score: scoreOf(viewer, candidate, interest, now) }]
    })
    if (found.length >= STACK_SIZE || members.length < count) break
  }
  return found.sort(inOrder).slice(0, STACK_SIZE)
}

const app = new Hono().get('/v1/feed/:user', async (context) => {
  const userId = context.req.param('user')
  const now = Date.now()
  const state = await readUser(reader, partitionOf(userId), userId)
  if (state === NOT_CAUGHT_UP || state === undefined) return context.json({ error: 'profile_not_found' }, 404)
  const place = placeOf(state)
  if (place === undefined) return context.json({ error: 'location_required' }, 400)
  const interestsOf = interestReader(reader, userKeys(partitionOf(userId), userId), exclusionsOf(state, now))
  const found = await search(viewerAt(state, place), interestsOf, now)
  const texts = await Promise.all(found.map(({ candidate: { userId: id } }) => redis.get(userKeys(partitionOf(id), id).profile)))
  const candidates = found.slice(0, SHOWN).flatMap(({ candidate, score }, index) => {
    const text = texts[index]
    if (text === null) return []
    const { user_id, display_name, bio, photo_urls } = JSON.parse(text) as MatchProfile
    return [{ user_id, display_name, bio, photo_urls, score, distance_km: shownDistanceKm(place, candidate.place) }]
  })
  return context.json({ candidates })
})
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }: AddressInfo) =>
  process.stdout.write(`${JSON.stringify({ event: 'peer_started', url: `http://127.0.0.1:${port}` })}\n`),
)
process.once('SIGTERM', () => server.close(() => process.exit()))
