import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { deviationOf } from '../../../schemas/fraud/profile/read.ts'
import { runningFold } from '../../../schemas/fraud/profile/running-fold.ts'
import { PROFILE_SHAPES, type ProfileShape } from '../../../schemas/fraud/profile/shape.ts'
import '../../property-limit.ts'
import { DAY, HOUR, NOON } from './payments.ts'
import { comparable } from './profile-contents.ts'

/** A user's profile whose limits are so low that a few transactions reach them. */
const SMALL: ProfileShape = {
  ...PROFILE_SHAPES.user,
  mostEvents: 6,
  seen: { device: { keptMs: DAY, most: 3 }, ip: { keptMs: HOUR, most: 5 }, card: { keptMs: 8 * DAY, most: 2 } },
  places: 2,
}

/** Generates transactions with consecutive ids, starting at `firstId`. */
const events = (firstId: number, maxLength: number) =>
  fc
    .array(
      fc.record({
        ago: fc.integer({ min: 0, max: 9 * DAY }),
        isRecent: fc.boolean(),
        units: fc.nat(1e7),
        other: fc.nat(8),
        lat: fc.nat(3),
      }),
      { maxLength },
    )
    .map((made) =>
      made.map(
        ({ ago, isRecent, units, other, lat }, index): FraudEvent => ({
          id: firstId + index,
          at: NOON - (isRecent ? ago % HOUR : ago),
          units,
          place: lat === 0 ? null : { lat, lng: other },
          user: null,
          device: other % 4 === 3 ? null : other,
          ip: other * 7,
          card: units % 5,
          merchant: null,
          user_id: null,
        }),
      ),
    )

test('adding transactions in several batches gives the same profile as one fold of all of them, even beyond the limits of the profile', () => {
  const histories = fc.tuple(
    events(0, 30),
    events(1_000, 40),
    fc.array(fc.nat(5), { maxLength: 20 }),
    fc.array(fc.nat(29), { maxLength: 3 }),
  )
  fc.assert(
    fc.property(histories, ([before, after, sizes, repeated]) => {
      for (const shape of [SMALL, PROFILE_SHAPES.user]) {
        const start = foldEvents(NEW_PROFILE, shape, before)
        const fold = runningFold(start, shape)
        // Adds some earlier transactions again, except to the small profile. Both folds ignore those that the start
        // profile still lists individually.
        const rest = [...after, ...new Set(repeated.flatMap((index) => (shape === SMALL ? [] : (before[index] ?? []))))]
        const added: FraudEvent[] = []
        for (const size of [...sizes, rest.length]) {
          const some = rest.splice(0, size)
          added.push(...some)
          fold.add(some)
          const whole = foldEvents(start, shape, added)
          expect(comparable(fold.current)).toEqual(comparable(whole))
          expect(fold.current.mean_usd).toBeCloseTo(whole.mean_usd, 6)
          expect(deviationOf(fold.current)).toBeCloseTo(deviationOf(whole), 6)
        }
      }
    }),
    { numRuns: 100 },
  )
})
