import { expect, test } from 'vitest'
import { topicSpecs } from '../../../deploy/local/provision.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import {
  locationUpdates,
  matchEvents,
  matchIndex,
  matchNotifications,
  matchProfileCommands,
  matchProfiles,
  matchRelations,
  matchSeen,
  matchSwipes,
  pairSwipes,
  stackRefillRequests,
  swipeEvents,
} from '../../../schemas/matches/topics.ts'
import { matchesTable } from '../../../state/tables/matches/matches.ts'
import { matchSwipesTable } from '../../../state/tables/matches/swipes.ts'

const DAY_MS = 24 * 3_600_000

test('in production, the topics have the intended names and partition counts', () => {
  expect([swipeEvents, locationUpdates].map(({ name, productionPartitions }) => [name, productionPartitions])).toEqual([
    ['swipe-events', 200],
    ['location-updates', 50],
  ])
  expect([matchEvents.name, stackRefillRequests.name]).toEqual(['match-events', 'stack-refill-requests'])
})

test('topics keyed by user have as many partitions as the topic of swipes, so that one task or one view can read them together', () => {
  const byUser = [matchProfileCommands, matchProfiles, matchSeen, matchRelations, matchSwipes, matchNotifications, stackRefillRequests]
  expect(new Set(byUser.map(({ productionPartitions }) => productionPartitions))).toEqual(new Set([200]))
  expect(new Set(byUser.map(({ partitions }) => partitions))).toEqual(new Set([swipeEvents.partitions]))
})

test('events are kept for a week, rows of swipes for 90 days, and rows of matches without limit', () => {
  for (const { name, config } of [swipeEvents, matchEvents, pairSwipes])
    expect([name, config]).toEqual([name, expect.objectContaining({ 'retention.ms': String(7 * DAY_MS) })])
  expect(matchSwipesTable.ttl).toBe('toDateTime(ts) + INTERVAL 90 DAY')
  expect(matchesTable.ttl).toBeUndefined()
})

test('topics with profiles or places lose the data of a deleted user within an hour, and other topics keep only ids, for a week', () => {
  const specs = new Map(topicSpecs('local').map((spec) => [spec.name, spec]))
  const minutes = (name: string, setting: string) => Number(specs.get(name)?.config?.[setting]) / 60_000
  const places = ['match-profile-commands', 'location-updates', 'match-users-located-repartition']
  for (const name of places) expect([name, minutes(name, 'retention.ms'), minutes(name, 'segment.ms')]).toEqual([name, 30, 10])
  const people = ['match-profiles', 'match-seen', 'match-profiles-profiles-changelog', 'match-users-users-changelog']
  for (const name of people) expect([name, minutes(name, 'max.compaction.lag.ms'), minutes(name, 'segment.ms')]).toEqual([name, 20, 20])
  const keys = ['max.compaction.lag.ms', 'segment.ms', 'delete.retention.ms'].map((setting) => minutes(matchIndex.name, setting))
  expect(keys).toEqual([10, 10, 10])
  const changelogs = [...specs.keys()].filter((name) => /^match-(profiles|users|pairs)-.*-changelog$/.test(name))
  const ids = [...changelogs.filter((name) => !people.includes(name)), 'match-relations', 'match-pair-decisions']
  for (const name of ids) expect([name, minutes(name, 'max.compaction.lag.ms')]).toEqual([name, 6 * 24 * 60])
  expect(specs.get('match-users-scored-repartition')?.config).toMatchObject({ 'retention.ms': String(7 * DAY_MS) })
  for (const name of [...places, ...people, ...ids, matchIndex.name]) expect([name, specs.get(name)?.erases]).toEqual([name, true])
})

test('seen-sets are made for 50,000 users, 30 days and 1 % false positives', () => {
  expect(SEEN_SHAPE).toEqual({ capacity: 50_000, errorRate: 0.01, lifetimeMs: 30 * DAY_MS })
})
