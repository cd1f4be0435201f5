import { expect, test } from 'vitest'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import {
  locationUpdates,
  matchEvents,
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

test('the topics have the names and the partitions of the specification in production', () => {
  expect([swipeEvents, locationUpdates].map(({ name, productionPartitions }) => [name, productionPartitions])).toEqual([
    ['swipe-events', 200],
    ['location-updates', 50],
  ])
  expect([matchEvents.name, stackRefillRequests.name]).toEqual(['match-events', 'stack-refill-requests'])
})

test('all topics that one task or one view of a user reads have as many partitions as the swipes', () => {
  const byUser = [matchProfileCommands, matchProfiles, matchSeen, matchRelations, matchSwipes, matchNotifications, stackRefillRequests]
  expect(new Set(byUser.map(({ productionPartitions }) => productionPartitions))).toEqual(new Set([200]))
  expect(new Set(byUser.map(({ partitions }) => partitions))).toEqual(new Set([swipeEvents.partitions]))
})

test('events are kept for a week, rows of swipes for 90 days, and rows of matches without limit', () => {
  for (const { name, config } of [swipeEvents, locationUpdates, matchEvents, pairSwipes])
    expect([name, config]).toEqual([name, expect.objectContaining({ 'retention.ms': String(7 * DAY_MS) })])
  expect(matchSwipesTable.ttl).toBe('toDateTime(ts) + INTERVAL 90 DAY')
  expect(matchesTable.ttl).toBeUndefined()
})

test('a seen-set holds 50,000 users for 30 days, with at most 1 % false positives', () => {
  expect(SEEN_SHAPE).toEqual({ capacity: 50_000, errorRate: 0.01, lifetimeMs: 30 * DAY_MS })
})
