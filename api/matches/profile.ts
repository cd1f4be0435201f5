import { type ProfileAnswer, profileFlow } from '../../schemas/matches/flow.ts'
import { locationUpdates } from '../../schemas/matches/topics.ts'
import type { MatchProfile, MatchProfileCommand } from '../../schemas/matches/types.ts'
import { cellOf, geohashOf } from '../../state/views/matches/candidates/cells.ts'
import { ageAt } from '../../state/views/matches/candidates/person.ts'
import { placeField } from '../../state/views/matches/recent.ts'
import { lastActiveOf, type OwnState, placeOf } from '../../state/views/matches/viewer.ts'
import { type Answer, jsonAnswer, noContent } from '../kit/answer.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, invalidRequest } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind } from '../kit/route.ts'
import { matchesErrors } from './errors.ts'
import { MAX_AGE } from './model.ts'
import { noProfile, type People, placeTimeOf, userOf } from './people.ts'
import { deleteProfileRoute, locationRoute, patchProfileRoute, putProfileRoute, readProfileRoute } from './routes.ts'

const ADULT_YEARS = 18
/**
 * Maximum inaccuracy of a location. Less accurate locations are ignored, because other users could find the user in the
 * wrong cell.
 */
const LEAST_ACCURACY_M = 10_000
const GEOHASH_CHARACTERS = 6

const NOTHING_SET: MatchProfileCommand = {
  action: 'put',
  sets: [],
  display_name: null,
  birth_date: null,
  gender: null,
  seeking_gender: [],
  bio: null,
  min_age_pref: null,
  max_age_pref: null,
  max_dist_km: null,
  is_active: null,
  photo_urls: [],
  not_before: 0,
}

export interface ProfileDeps {
  readonly commands: Commands
  readonly facts: Facts
  readonly people: People
  /** Epoch ms. */
  now(): number
}

/** Creates the routes of a user's own profile and location. */
export function profileRoutes({ commands, facts, people, now }: ProfileDeps) {
  async function decide(
    from: CommandRequest,
    action: MatchProfileCommand['action'],
    given: object,
    not_before = 0,
  ): Promise<ProfileAnswer> {
    const open = await commands.open(from, [`${action}MatchProfile`, given])
    const sets = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    return open.run(profileFlow, userOf(from), { ...NOTHING_SET, ...given, action, sets, not_before })
  }

  /**
   * Returns the time of the newest known event of a user, epoch ms: an activity, or a block that the user has set. A
   * deletion with an earlier time would not remove this event, and a new profile would use the state of the deleted
   * one; see `isOfFormerProfile`.
   */
  async function newestEventOf(userId: string): Promise<number> {
    const [state, blocks] = await Promise.all([people.stateOf(userId), people.blocked(userId, 0, 1)])
    if (state === undefined) return 0
    return Math.max(lastActiveOf(state), blocks.firstAt)
  }

  async function change(
    from: CommandRequest,
    action: 'put' | 'patch',
    given: { readonly birth_date?: string | undefined },
  ): Promise<Answer> {
    const age = given.birth_date === undefined ? ADULT_YEARS : ageAt(given.birth_date, now())
    if (age < ADULT_YEARS) throw new ApiError(matchesErrors.under_age)
    if (age > MAX_AGE) throw invalidRequest('body.birth_date', `must not make the user older than ${MAX_AGE} years`)
    const answer = await decide(from, action, given)
    if (answer.outcome === 'not_found') throw noProfile()
    if (answer.outcome === 'bad_ages') throw invalidRequest('body.min_age_pref', 'must not exceed max_age_pref')
    return jsonAnswer(answer.outcome === 'created' ? 201 : 200, shown(await people.self(userOf(from))), PRIVATE)
  }

  /** Returns the profile and the location as the API shows them. */
  function shown(state: OwnState) {
    const place = placeOf(state)
    return {
      ...profileJson(state.profile),
      geohash6: place === undefined ? null : geohashOf(cellOf(place, GEOHASH_CHARACTERS)),
      lat: place?.lat ?? null,
      lon: place?.lon ?? null,
      location_updated_at: place === undefined ? null : new Date(place.at).toISOString(),
      last_active_at: new Date(Math.max(state.profile.updated_at, lastActiveOf(state))).toISOString(),
    }
  }

  return [
    bind(putProfileRoute, (input) => change(input, 'put', input.body)),
    bind(patchProfileRoute, (input) => change(input, 'patch', input.body)),
    bind(readProfileRoute, async (input) => {
      return jsonAnswer(200, shown(await people.self(userOf(input))), PRIVATE)
    }),
    bind(deleteProfileRoute, async (input) => {
      // The profile is deleted even while the view is unavailable or being built.
      const newest = await newestEventOf(userOf(input)).catch(() => 0)
      const answer = await decide(input, 'delete', {}, newest)
      if (answer.outcome === 'not_found') throw noProfile()
      return noContent()
    }),
    bind(locationRoute, async (input) => {
      const { lat, lon, accuracy_m } = input.body
      if ((accuracy_m ?? 0) > LEAST_ACCURACY_M) return noContent()
      const user = userOf(input)
      // Without a profile, the location would never be deleted, because only the deletion of a profile removes it.
      const state = await people.self(user)
      const undoJump = await people.checkJump(user, state, { lat, lon })
      const ts = placeTimeOf(state, now())
      const update = { user_id: user, lat, lon, accuracy_m: accuracy_m ?? null, ts }
      await facts.publish(locationUpdates, user, update).catch(async (error: unknown) => {
        // The client will repeat the request, and a repeated jump must not count again.
        await undoJump()
        throw error
      })
      await people.tryToNote(user, placeField({ lat, lon }, ts))
      return noContent()
    }),
  ]
}

function profileJson({ deleted_at: _deleted, created_at, updated_at, ...fields }: MatchProfile) {
  return { ...fields, created_at: new Date(created_at).toISOString(), updated_at: new Date(updated_at).toISOString() }
}
