import { expect, test } from 'vitest'
import { eventsOf } from '../../../../schemas/fraud/events.ts'
import { profileFromBytes } from '../../../../schemas/fraud/profile/bytes.ts'
import { packEvents } from '../../../../schemas/fraud/profile/events.ts'
import { packProfile } from '../../../../schemas/fraud/profile/packed.ts'
import { FLIGHT_BYTES, flightId, flightRow, inFlightAt } from '../../../../state/views/fraud/in-flight.ts'
import { fraudProfilesView, profileKeys } from '../../../../state/views/fraud/profiles.ts'
import { NOON, pay, profileOf } from '../../../schemas/fraud/payments.ts'

const KEYS = {
  caughtUp: '{fraud-profiles:3}:caught-up',
  profile: '{fraud-profiles:3}:profile:ip:2001:db8::1',
  flight: '{fraud-profiles:3}:in-flight:ip:2001:db8::1',
  counted: '{fraud-profiles:3}:counted:ip:2001:db8::1',
}

test('a record replaces the profile, and the transactions that it includes are no longer in flight', () => {
  const request = pay({ ip: '2001:db8::1', device: 'd1' })
  const profile = profileOf('ip', '2001:db8::1', [request])
  const [{ event }] = eventsOf(request)
  const included = packEvents([event, { ...event, id: 0xffffffffffff }])
  const [set, ...rest] = fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', packProfile({ ...profile, included }))
  expect(set).toMatchObject({ op: 'set', key: KEYS.profile })
  expect(profileFromBytes((set as { value: Buffer }).value)).toEqual(profile)
  const second = Math.floor(event.at / 1_000)
  const common = { counters: [`${second}`, `m${Math.floor(second / 60)}`], amount: event.units }
  const items = [
    { ...common, start: flightId(event.id) },
    { ...common, start: Buffer.from('ffffffffffff', 'hex') },
  ]
  expect(rest).toEqual([{ op: 'removeRows', key: KEYS.flight, rowBytes: FLIGHT_BYTES, items, counters: KEYS.counted }])
  expect(profileKeys(3, 'ip:2001:db8::1')).toEqual(KEYS)
})

test('a tombstone removes the profile but not the transactions in flight', () => {
  expect(fraudProfilesView.operationsFor(3, 'ip:2001:db8::1', null)).toEqual([{ op: 'del', key: KEYS.profile }])
})

test('a transaction in flight contains everything that features need', () => {
  const request = pay({ device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1', place: [51.5, -0.1], amount: 9.99 })
  for (const { event } of eventsOf(request)) {
    const row = flightRow(event, NOON + 999)
    expect(row).toHaveLength(FLIGHT_BYTES)
    expect(row.subarray(0, 6)).toEqual(flightId(event.id))
    expect(inFlightAt(Buffer.concat([row, row]), FLIGHT_BYTES)).toEqual({ event: { ...event, user_id: null }, addedAt: NOON })
  }
})
