import { expect, test } from 'vitest'
import { eventsOf } from '../../../../schemas/fraud/events.ts'
import { profileFromBytes } from '../../../../schemas/fraud/profile/bytes.ts'
import { packEvents } from '../../../../schemas/fraud/profile/events.ts'
import { flightField, packFlight, unpackFlight } from '../../../../state/views/fraud/in-flight.ts'
import { fraudProfilesView, profileKeys } from '../../../../state/views/fraud/profiles.ts'
import { pay, profileOf } from '../../../schemas/fraud/payments.ts'

const KEYS = { profile: '{fraud-profiles:3}:profile:ip:2001:db8::1', flight: '{fraud-profiles:3}:flight:ip:2001:db8::1' }

test('a record replaces the profile and removes the transactions that it includes from those in flight', () => {
  const request = pay({ ip: '2001:db8::1', device: 'd1' })
  const profile = profileOf('ip', '2001:db8::1', [request])
  const [{ event }] = eventsOf(request)
  const [set, ...rest] = fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', {
    ...profile,
    included: packEvents([event, { ...event, id: 0xffffffffffff }]),
  })
  expect(set).toMatchObject({ op: 'set', key: KEYS.profile })
  expect(profileFromBytes((set as { value: Buffer }).value)).toEqual(profile)
  expect(rest).toEqual([
    { op: 'hdel', key: KEYS.flight, field: flightField(event.id) },
    { op: 'hdel', key: KEYS.flight, field: 'ffffffffffff' },
  ])
  expect(profileKeys(3, 'ip:2001:db8::1')).toEqual(KEYS)
})

test('a tombstone removes the profile and leaves what is in flight', () => {
  expect(fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', null)).toEqual([{ op: 'del', key: KEYS.profile }])
})

test('a transaction in flight has all that features need', () => {
  const request = pay({ device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1', place: [51.5, -0.1], amount: 9.99 })
  for (const { event } of eventsOf(request)) {
    expect(unpackFlight(flightField(event.id), packFlight(event))).toEqual({ ...event, user_id: null })
  }
})
