import { behave } from '../../fraud/patterns/behaviour.ts'
import { FRAUDS } from '../../fraud/patterns/frauds.ts'
import { PATTERNS, type Pattern, type PaymentParts, paymentOf } from '../../fraud/patterns/payment.ts'
import { createWorld, type Person } from '../../fraud/patterns/world.ts'
import { pick, seededRandom } from '../../random/random.ts'
import { requestBody } from './request-body.ts'

const SECOND_MS = 1_000
const DAY_MS = 86_400_000
/**
 * Number of people. At five payments per second, each person pays about twice an hour, so that nobody pays suspiciously
 * often.
 */
const PEOPLE = 10_000
/** The newest accounts are opened within this time before the demo begins. */
const NEWEST_ACCOUNTS_MS = 60 * DAY_MS
/** Share of payments that belong to frauds. */
const FRAUD_SHARE = 0.01
/**
 * Maximum number of payments in a fraud. Together with FRAUD_SHARE, this limit keeps blocked payments below 1 % of all
 * payments in any five minutes. Above 1 %, the guard would raise an alert.
 */
const LONGEST_FRAUD = 12
/** Time until the first fraud begins. It is short, so that there is a case within a minute. */
const FIRST_FRAUD_MS = 3 * SECOND_MS
/** Maximum duration of a fraud in the demo. Frauds that take hours in reality are compressed to this time. */
const LONGEST_FRAUD_MS = 90 * SECOND_MS
/**
 * Maximum number of possible victims. Victims are people who have paid since the demo began, so that the service knows
 * their history.
 */
const MOST_KNOWN = 1_000

/** A payment, and the time at which it is sent. */
export interface DemoPayment {
  /** Time at which the payment is sent, epoch ms. */
  readonly at: number
  readonly body: ReturnType<typeof requestBody>
  /** The pattern of the fraud to which the payment belongs; undefined for an ordinary payment. */
  readonly pattern: Pattern | undefined
}

export interface DemoPayments {
  /** Returns the next payment; times never decrease. */
  next(): DemoPayment
}

export interface DemoPaymentsOptions {
  readonly seed: number
  /** Payments per second. */
  readonly rate: number
  /**
   * Start of the stream, epoch ms. Transaction ids contain this time, so that several streams have no ids in common. A
   * payment with the id of an earlier payment would get the answer to the earlier one.
   */
  readonly startAt: number
}

/** Creates an endless stream of payments, some of which belong to frauds. Equal options give equal streams. */
export function demoPayments({ seed, rate, startAt }: DemoPaymentsOptions): DemoPayments {
  const random = seededRandom(seed)
  const world = createWorld(random, { people: PEOPLE, startAt: startAt - NEWEST_ACCOUNTS_MS, endAt: startAt, name: `demo${seed}` })
  const run = `demo-${startAt.toString(36)}`
  const known: Person[] = []
  /** Payments of frauds, in chronological order. */
  let planned: (DemoPayment & { readonly order: number })[] = []
  let number = 0
  let frauds = 0
  let ordinaryAt = startAt
  let nextFraudAt = startAt + FIRST_FRAUD_MS
  let ordinary = ordinaryPayment()

  function next(): DemoPayment {
    while (ordinary.at >= nextFraudAt) beginFraud()
    const [first] = planned
    if (first !== undefined && first.at <= ordinary.at) {
      planned = planned.slice(1)
      return { at: first.at, body: first.body, pattern: first.pattern }
    }
    const payment = ordinary
    ordinary = ordinaryPayment()
    return payment
  }

  function ordinaryPayment(): DemoPayment {
    ordinaryAt += (-Math.log(1 - random()) * SECOND_MS) / (rate * (1 - FRAUD_SHARE))
    const at = Math.floor(ordinaryAt)
    const person = pick(random, world.people)
    const { value } = behave(random, world, person, at, Number.POSITIVE_INFINITY).next()
    // The people of the demo do not travel, because successive payments are too close in time for a journey.
    const parts: PaymentParts = { ...value!, id: `${run}-${number++}`, at, place: person.home, address: person.addresses[0] }
    if (!person.isSparse && !person.isBusiness) known[number % MOST_KNOWN] = person
    return { at, body: requestBody(paymentOf(random, parts).request), pattern: undefined }
  }

  function beginFraud(): void {
    const pattern = FRAUD_ORDER[frauds % FRAUD_ORDER.length]
    const from = nextFraudAt
    const victim = pick(random, Object.values(known))
    const all = FRAUDS[pattern]({ random, world, name: `${run}-${pattern}-${frauds++}`, at: from, victim }).slice(0, LONGEST_FRAUD)
    const scale = Math.min(1, LONGEST_FRAUD_MS / Math.max(1, all[all.length - 1].at - from))
    for (const [order, parts] of all.entries()) {
      const isOwn = parts.at < from
      const at = isOwn ? from : Math.floor(from + (parts.at - from) * scale)
      // The victim's own payments from before the fraud are sent late, but with their original times.
      const body = requestBody(paymentOf(random, isOwn ? parts : { ...parts, at }).request)
      planned.push({ at, body, pattern: isOwn ? undefined : pattern, order })
    }
    planned.sort((one, other) => one.at - other.at || one.order - other.order)
    nextFraudAt += (all.length * SECOND_MS) / (rate * FRAUD_SHARE)
  }

  return { next }
}

/** The order of the patterns. The first pattern leads to a case with its first payment. */
const FRAUD_ORDER: readonly Pattern[] = ['new_account', ...PATTERNS.filter((pattern) => pattern !== 'new_account')]
