import { expect, test } from 'vitest'
import { ROLL_KEY } from '../../../pipelines/engine/index.ts'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { decideProfile } from '../../../pipelines/matches/profiles/decide.ts'
import { matchProfiles } from '../../../pipelines/matches/profiles/topology.ts'
import { profileFlow } from '../../../schemas/matches/flow.ts'
import type { MatchProfile, MatchProfileCommand } from '../../../schemas/matches/types.ts'
import { ANN } from './swipes.ts'

const MINUTE_MS = 60_000

const COMMAND: MatchProfileCommand = {
  action: 'put',
  sets: ['display_name', 'birth_date', 'bio', 'photo_urls'],
  display_name: 'Ann',
  birth_date: '1990-05-01',
  gender: null,
  seeking_gender: [],
  bio: 'hello',
  min_age_pref: null,
  max_age_pref: null,
  max_dist_km: null,
  is_active: null,
  photo_urls: ['https://example.com/ann.jpg'],
  not_before: 0,
}

test('answers contain no part of a profile, because they are kept for a day, and the profile may be deleted earlier', () => {
  const { ask, view } = decisionDriver(matchProfiles, profileFlow)
  expect(ask(ANN, COMMAND)).toEqual({ outcome: 'created' })
  expect(ask(ANN, { ...COMMAND, action: 'patch', sets: ['bio'], bio: 'bye' })).toEqual({ outcome: 'changed' })
  expect(view(ANN)).toMatchObject({ display_name: 'Ann', bio: 'bye', min_age_pref: 18 })
  expect(ask(ANN, { ...COMMAND, action: 'delete', sets: [] })).toEqual({ outcome: 'deleted' })
  expect(view(ANN)).toMatchObject({ display_name: '', birth_date: '', bio: null, photo_urls: [], deleted_at: expect.any(Number) })
})

test('a new profile does not begin before the deletion of the former profile, even if the clock has gone back since', () => {
  // Events up to the time of the deletion are ignored, and the API dates all events after the beginning of the profile.
  const at = (now: number) => ({ key: ANN, now, commandId: String(now) })
  const former = decideProfile(undefined, COMMAND, at(10_000)).state as MatchProfile
  const deleted = decideProfile(former, { ...COMMAND, action: 'delete', sets: [] }, at(60_000)).state as MatchProfile
  expect(deleted).toMatchObject({ deleted_at: 60_000 })
  const { answer, state } = decideProfile(deleted, COMMAND, at(55_000))
  expect(answer).toEqual({ outcome: 'created' })
  expect(state).toMatchObject({ created_at: 60_000, updated_at: 60_000, deleted_at: null })
})

test('the time of a deletion is never before an earlier action of the user, even if the clock has gone back since', () => {
  const at = (now: number) => ({ key: ANN, now, commandId: String(now) })
  const created = decideProfile(undefined, COMMAND, at(10_000)).state as MatchProfile
  const changed = decideProfile(created, { ...COMMAND, action: 'patch', sets: ['bio'], bio: 'x' }, at(20_000)).state as MatchProfile
  const deletedAt = (now: number, not_before: number, profile = created) =>
    decideProfile(profile, { ...COMMAND, action: 'delete', sets: [], not_before }, at(now)).state?.deleted_at
  expect(deletedAt(60_000, 0)).toBe(60_000)
  expect(deletedAt(5_000, 0)).toBe(10_000)
  expect(deletedAt(60_000, 60_500)).toBe(60_500)
  expect(deletedAt(15_000, 0, changed)).toBe(20_000)
})

test('a deletion makes the broker close the segments that contain the profile, and an idle system adds no records', () => {
  const { ask, driver } = decisionDriver(matchProfiles, profileFlow)
  const rolls = () =>
    [profileFlow.decisions.name, 'match-profiles-profiles-changelog'].map(
      (topic) => driver.broker.records(topic).filter(({ key }) => String(Buffer.from(key!)) === ROLL_KEY).length,
    )
  ask(ANN, COMMAND)
  for (let passed = 0; passed < 120; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  const before = rolls()
  for (let passed = 0; passed < 60; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  expect(rolls()).toEqual(before)
  ask(ANN, { ...COMMAND, action: 'delete', sets: [] })
  for (let passed = 0; passed < 30; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  expect(rolls()).toEqual(before.map((count) => count + 6))
})
