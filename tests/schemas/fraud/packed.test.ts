import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENTITY_KINDS, type EntityKind } from '../../../schemas/fraud/entity.ts'
import { eventsOf, factsOf } from '../../../schemas/fraud/events.ts'
import { packedProfileBytes, profileBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { packEvents } from '../../../schemas/fraud/profile/events.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import {
  newPacked,
  type PackedProfile,
  packedProfiles,
  packProfile,
  parseProfile,
  unpackProfile,
} from '../../../schemas/fraud/profile/packed.ts'
import { foldPackedVerdict, foldRows, setIncluded } from '../../../schemas/fraud/profile/packed-fold.ts'
import { ROW_BYTES, writeRow } from '../../../schemas/fraud/profile/rows.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudProfile, FraudRequest } from '../../../schemas/fraud/types.ts'
import '../../property-limit.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { avro } from '../../../schemas/load.ts'
import { DAY, HOUR, MINUTE, NOON, pay } from './payments.ts'

const ALL = (count: number) => Array.from({ length: count }, (_, index) => index * ROW_BYTES)
const SCHEMA_ID = 7
const codec = packedProfiles.open(SCHEMA_ID, { get: () => undefined })

function rowsOf(requests: readonly FraudRequest[]) {
  const bytes = Buffer.alloc(requests.length * ROW_BYTES)
  for (const [index, request] of requests.entries()) writeRow(bytes, index * ROW_BYTES, factsOf(request), false)
  return { bytes, userOf: (at: number) => requests[at / ROW_BYTES].payer.user_id }
}

function packedFold(profile: PackedProfile | undefined, kind: EntityKind, requests: readonly FraudRequest[]): PackedProfile {
  const rows = ALL(requests.length)
  const folded = profile ?? newPacked()
  foldRows(folded, ENTITY_KINDS.indexOf(kind), rowsOf(requests), rows, kind === 'merchant' ? [] : rows)
  return folded
}

/** Adds transactions to the decoded profile, as the API does. */
function decodedFold(profile: FraudProfile, kind: EntityKind, requests: readonly FraudRequest[]): FraudProfile {
  const events = requests.flatMap((request) => eventsOf(request).flatMap((one) => (one.kind === kind ? [one.event] : [])))
  const included = kind === 'merchant' ? Buffer.alloc(0) : packEvents(events)
  return { ...foldEvents(profile, PROFILE_SHAPES[kind], events), included }
}

const payments = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 400 }),
    ago: fc.oneof(fc.integer({ min: 0, max: 9 * DAY }), fc.integer({ min: 0, max: HOUR }), fc.constant(MINUTE)),
    amount: fc.integer({ min: 0, max: 5_000_00 }).map((cents) => cents / 100),
    other: fc.integer({ min: 0, max: 300 }),
    isPlaced: fc.boolean(),
    isBare: fc.boolean(),
  }),
  { maxLength: 40 },
)

function requestsOf(made: typeof payments extends fc.Arbitrary<infer T> ? T : never, kind: EntityKind): FraudRequest[] {
  return made.map(({ id, ago, amount, other, isPlaced, isBare }) => {
    const others = {
      device: `d${other % 200}`,
      ip: `192.0.2.${other}`,
      card: `c${other % 7}`,
      merchant: `m${other}`,
      user: `u${other % 50}é`,
    }
    const given = { ...(isBare ? { user: others.user } : others), [kind]: 'it' }
    return pay({ id: `t${id}`, at: NOON - ago - (id % 2), amount, ...given, ...(isPlaced && { place: [other - 150, other] as const }) })
  })
}

test.each(ENTITY_KINDS)(
  'folding transactions into the bytes of a profile gives the same result as folding them into the decoded profile: %s',
  (kind) => {
    fc.assert(
      fc.property(fc.array(payments, { minLength: 1, maxLength: 12 }), (batches) => {
        let packed: PackedProfile | undefined
        let decoded = NEW_PROFILE
        for (const [index, made] of batches.entries()) {
          const requests = requestsOf(made, kind)
          packed = packedFold(packed, kind, requests)
          decoded = decodedFold(decoded, kind, requests)
          if (index % 3 === 2) {
            const verdict = { verdict: 'CONFIRMED_FRAUD', previous: null, at: NOON - index * HOUR, previous_at: null } as const
            foldPackedVerdict(packed, kind, verdict)
            decoded = foldVerdict(decoded, kind, verdict)
          }
          expect(unpackProfile(packed)).toEqual(decoded)
        }
      }),
      { numRuns: 60 },
    )
  },
)

test.each(ENTITY_KINDS)(
  'packed and decoded profiles agree beyond all limits of a profile, with repeated transactions and in batches: %s',
  (kind) => {
    let packed: PackedProfile | undefined
    let decoded = NEW_PROFILE
    for (let index = 0; index < 1_500; ) {
      const size = index % 7 === 0 ? 40 : 1
      const requests = Array.from({ length: size }, (_, step) => {
        const number = index + step
        const others = { user: `u${number % 90}`, device: `d${number}`, ip: `i${number}`, card: `c${number % 300}`, merchant: `m${number}` }
        return pay({
          id: `t${number - (number % 10 === 9 ? 1 : 0)}`,
          at: NOON + number * 11 * MINUTE,
          amount: number,
          place: [1, 2],
          ...others,
          [kind]: 'it',
        })
      })
      packed = packedFold(packed, kind, requests)
      decoded = decodedFold(decoded, kind, requests)
      index += size
    }
    expect(unpackProfile(packed!)).toEqual(decoded)
    expect(decoded.txn_count).toBeGreaterThan(1_000)
  },
)

test('the store and the view get the same bytes from a packed profile as from a decoded one', () => {
  const requests = [pay({ device: 'd1' }), pay({ device: 'd1', at: NOON + 1 })]
  const packed = packedFold(undefined, 'device', requests)
  const decoded = decodedFold(NEW_PROFILE, 'device', requests)
  const out = byteWriter()
  const expected = byteWriter()
  codec.encode(packed, out)
  avro('fraud/FraudProfile')
    .open(SCHEMA_ID, { get: () => undefined })
    .encode(decoded, expected)
  const bytes = out.buffer.subarray(0, out.length)
  expect(bytes).toEqual(expected.buffer.subarray(0, expected.length))
  expect(unpackProfile(codec.decode(out.buffer, 0, out.length))).toEqual(decoded)
  expect(packedProfileBytes(packed)).toEqual(profileBytes({ ...decoded, included: Buffer.alloc(0) }))
  setIncluded(packed, rowsOf(requests).bytes, [ROW_BYTES])
  expect(unpackProfile(packed).included).toEqual(decoded.included.subarray(18))
})

test('a profile that was written with an earlier schema is read with that schema', () => {
  const schema = { type: 'record', name: 'FraudProfile', namespace: 'millrace.fraud', fields: [{ name: 'txn_count', type: 'long' }] }
  const older = packedProfiles.open(SCHEMA_ID, { get: () => schema })
  const value = Buffer.from([0, 0, 0, 0, 9, 6])
  expect(unpackProfile(older.decode(value, 0, value.length))).toEqual({ ...NEW_PROFILE, txn_count: 3 })
})

test('truncated profiles and profiles with trailing bytes are refused', () => {
  const out = byteWriter()
  codec.encode(packProfile(NEW_PROFILE), out)
  const whole = Buffer.from(out.buffer.subarray(0, out.length))
  for (let end = 0; end < whole.length; end++) expect(() => codec.decode(whole, 0, end)).toThrow()
  expect(() => codec.decode(Buffer.concat([whole, Buffer.alloc(1)]), 0, whole.length + 1)).toThrow('1 bytes are left')
})

test('the fields that a sweep needs are read directly from the bytes of a profile', () => {
  const packed = packedFold(undefined, 'card', [pay({ card: 'c1' })])
  expect(parseProfile(packed)).toMatchObject({ newest_at: NOON, fraud_count: 0, txn_count: 1 })
})
