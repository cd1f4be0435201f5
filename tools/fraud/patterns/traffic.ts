import { pick, seededRandom } from '../../random/random.ts'
import { behave } from './behaviour.ts'
import { between } from './draw.ts'
import { FRAUDS } from './frauds.ts'
import { type GeneratedPayment, PATTERNS, type Pattern, type PaymentParts, paymentOf } from './payment.ts'
import { createWorld } from './world.ts'

export interface TrafficOptions {
  readonly seed: number
  readonly people: number
  readonly days: number
  /** How often each pattern occurs. */
  readonly occurrences: number
  /** Epoch ms. Default: the first of January 2026. */
  readonly startAt?: number
}

interface Drawn {
  readonly parts: PaymentParts
  readonly pattern: Pattern | undefined
  readonly occurrence: string
}

const DAY_MS = 86_400_000
const DEFAULT_START_MS = Date.UTC(2026, 0, 1)
/** Share of the period that passes before the first fraud, so that people have a history. */
const QUIET_SHARE = 0.3
/** Lower limit of a victim's mean number of payments per day: one payment in two days. */
const LEAST_PAYMENTS_PER_DAY = 0.5

/**
 * Returns normal payments and the payments of all fraud patterns, in chronological order. Equal options give equal
 * payments.
 */
export function generateTraffic({ seed, people, days, occurrences, startAt = DEFAULT_START_MS }: TrafficOptions): GeneratedPayment[] {
  const random = seededRandom(seed)
  const endAt = startAt + days * DAY_MS
  const world = createWorld(random, { people, startAt, endAt, name: `s${seed}` })
  const drawn: Drawn[] = []
  for (const person of world.people) {
    for (const parts of behave(random, world, person, startAt, endAt)) drawn.push({ parts, pattern: undefined, occurrence: '' })
  }
  const old = world.people.filter(
    ({ openedAt, paymentsPerDay, isSparse, isBusiness }) =>
      openedAt < startAt && paymentsPerDay > LEAST_PAYMENTS_PER_DAY && !isSparse && !isBusiness,
  )
  for (const pattern of PATTERNS) {
    for (let index = 0; index < occurrences; index++) {
      const occurrence = `s${seed}-${pattern}-${index}`
      const at = between(random, startAt + QUIET_SHARE * days * DAY_MS, endAt - DAY_MS)
      for (const parts of FRAUDS[pattern]({ random, world, name: occurrence, at, victim: pick(random, old) })) {
        const isOwn = parts.id.endsWith('-own')
        drawn.push(isOwn ? { parts, pattern: undefined, occurrence: '' } : { parts, pattern, occurrence })
      }
    }
  }
  drawn.sort((one, other) => one.parts.at - other.parts.at)
  return drawn.map(({ parts, pattern, occurrence }) => ({ ...paymentOf(random, parts), pattern, occurrence }))
}
