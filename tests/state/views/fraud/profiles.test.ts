import { expect, test } from 'vitest'
import { eventsOf } from '../../../../schemas/fraud/events.ts'
import { profileFromBytes } from '../../../../schemas/fraud/profile/bytes.ts'
import { packEvents } from '../../../../schemas/fraud/profile/events.ts'
import { packProfile } from '../../../../schemas/fraud/profile/packed.ts'
import { flightField, packFlight, unpackFlight } from '../../../../state/views/fraud/in-flight.ts'
import { fraudProfilesView, profileKeys } from '../../../../state/views/fraud/profiles.ts'
import { NOON, pay, profileOf } from '../../../schemas/fraud/payments.ts'

const KEYS = {
  caughtUp: '{fraud-profiles:3}:caught-up',
  profile: '{fraud-profiles:3}:profile:ip:2001:db8::1',
  flight: '{fraud-profiles:3}:flight:ip:2001:db8::1',
  counted: '{fraud-profiles:3}:counted:ip:2001:db8::1',
}

test('a record replaces the profile and removes the transactions that it includes from those in flight', () => {
  const request = pay({ ip: '2001:db8::1', device: 'd1' })
  const profile = profileOf('ip', '2001:db8::1', [request])
  const [{ event }] = eventsOf(request)
  const included = packEvents([event, { ...event, id: 0xffffffffffff }])
  const [set, ...rest] = fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', packProfile({ ...profile, included }))
  expect(set).toMatchObject({ op: 'set', key: KEYS.profile })
  expect(profileFromBytes((set as { value: Buffer }).value)).toEqual(profile)
  const second = Math.floor(event.at / 1_000)
  const counters = { key: KEYS.counted, fields: [`${second}`, `m${Math.floor(second / 60)}`] }
  const removal = { op: 'hdelOrSubtract', key: KEYS.flight, counters, amount: event.units }
  expect(rest).toEqual([
    { ...removal, field: flightField(event.id) },
    { ...removal, field: 'ffffffffffff' },
  ])
  expect(profileKeys(3, 'ip:2001:db8::1')).toEqual(KEYS)
})

test('a tombstone removes the profile and leaves what is in flight', () => {
  expect(fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', null)).toEqual([{ op: 'del', key: KEYS.profile }])
})

test('a transaction in flight has all that features need', () => {
  const request = pay({ device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1', place: [51.5, -0.1], amount: 9.99 })
  for (const { event } of eventsOf(request)) {
    const value = packFlight(event, NOON + 999)
    expect(value.length).toBeLessThan(64)
    expect(unpackFlight(flightField(event.id), value)).toEqual({ event: { ...event, user_id: null }, addedAt: NOON })
  }
})
