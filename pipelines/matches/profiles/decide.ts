import type { ProfileAnswer } from '../../../schemas/matches/flow.ts'
import type { MatchProfile, MatchProfileCommand } from '../../../schemas/matches/types.ts'
import type { CommandFacts, Decided } from '../../engine/index.ts'

type ProfileDecision = Decided<MatchProfile, ProfileAnswer>

/** Defaults for the fields that a request for a new profile omits; see docs/services/matches.md#profiles. */
const PROFILE_DEFAULTS = {
  gender: null,
  seeking_gender: [],
  bio: null,
  min_age_pref: 18,
  max_age_pref: 99,
  max_dist_km: 50,
  is_active: true,
  photo_urls: [],
}

export function decideProfile(known: MatchProfile | undefined, command: MatchProfileCommand, facts: CommandFacts): ProfileDecision {
  const alive = known?.deleted_at === null ? known : undefined
  switch (command.action) {
    case 'put':
      // The clock of this worker may be behind the clock of the worker that decided a deletion. Events up to the time
      // of the deletion are ignored. The API gives every event of a new profile a time after the profile's creation.
      // The creation must therefore not be earlier than the deletion.
      return put(alive, command, { ...facts, now: Math.max(facts.now, known?.deleted_at ?? 0) })
    case 'patch':
      return alive === undefined ? NOT_FOUND : patch(alive, command, facts)
    case 'delete':
      return alive === undefined
        ? NOT_FOUND
        : { answer: { outcome: 'deleted' }, state: remainder(alive, deletionTime(alive, command, facts)) }
  }
}

const NOT_FOUND: ProfileDecision = { answer: { outcome: 'not_found' } }

function put(alive: MatchProfile | undefined, command: MatchProfileCommand, { key, now }: CommandFacts): ProfileDecision {
  const given = { ...PROFILE_DEFAULTS, ...givenFields(command) }
  const { display_name, birth_date } = command
  // The API refuses a `put` without a name or a birth date.
  const required = { display_name: display_name ?? '', birth_date: birth_date ?? '' }
  const profile: MatchProfile = {
    ...given,
    ...required,
    user_id: key,
    created_at: alive?.created_at ?? now,
    updated_at: now,
    deleted_at: null,
  }
  return { answer: { outcome: alive === undefined ? 'created' : 'changed' }, state: profile }
}

/**
 * Changes a profile. The two age limits are compared here, because a patch may contain only one of them and the API
 * then cannot compare them.
 */
function patch(alive: MatchProfile, command: MatchProfileCommand, { now }: CommandFacts): ProfileDecision {
  const profile: MatchProfile = { ...alive, ...givenFields(command), updated_at: now }
  if (profile.min_age_pref > profile.max_age_pref) return { answer: { outcome: 'bad_ages' } }
  return { answer: { outcome: 'changed' }, state: profile }
}

function givenFields(command: MatchProfileCommand): Partial<MatchProfile> {
  const { action: _action, sets, ...fields } = command
  return Object.fromEntries(Object.entries(fields).filter(([name]) => sets.includes(name)))
}

/**
 * Returns the time of a deletion. Everything that the user did up to this time is removed. The time must therefore not
 * precede the user's events, even if this clock is behind the clocks of the processes that dated the events.
 */
function deletionTime({ created_at, updated_at }: MatchProfile, { not_before }: MatchProfileCommand, { now }: CommandFacts): number {
  return Math.max(now, created_at, updated_at, not_before)
}

/**
 * Returns what remains of a deleted profile: the id and the time of the deletion. Events of the user up to that time
 * are ignored.
 */
function remainder({ user_id }: MatchProfile, now: number): MatchProfile {
  const nothing = { display_name: '', birth_date: '', ...PROFILE_DEFAULTS, is_active: false }
  return { ...nothing, user_id, created_at: 0, updated_at: now, deleted_at: now }
}
