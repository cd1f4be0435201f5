import type { FraudBlocklistType, FraudVerdict } from '../../../schemas/fraud/types.ts'
import { integer, pick, type Random, seededRandom } from '../../../tools/random/random.ts'
import { drawFaults, FAULT_TAKES_MS } from '../draw-faults.ts'
import type { PlannedFault } from '../in-turn.ts'

/** Number of API processes. */
export const APIS = 3

export const FRAUD_FAULTS = [
  'api-killed',
  'api-stopped',
  'bulk-killed',
  'bulk-stopped',
  'deciding-killed',
  'deciding-stopped',
  'redis-killed',
  'redis-stopped',
  /** Redis is suspended again and again, for a moment each time. */
  'redis-slowed',
  'redis-emptied',
  'kafka-killed',
  'kafka-stopped',
  'kafka-slowed',
  'clickhouse-stopped',
  /** An API's model process is killed. */
  'model-killed',
  'model-stopped',
  /** Kafka is stopped. While it is down, an API is killed and started. */
  'outage',
  /** Kafka is stopped. While it is down, Redis is emptied. */
  'outage-emptied',
] as const

export type FraudFaultKind = (typeof FRAUD_FAULTS)[number]
export type FraudFault = PlannedFault<FraudFaultKind>

/** How a caller sends a payment. */
export type PaymentKind =
  | 'once'
  /** The payment is sent again after a while, through another API. */
  | 'repeated'
  /** The payment is sent twice at the same moment, through two APIs. */
  | 'doubled'
  /** The payment is sent again after a while, with another amount and through another API. */
  | 'changed'
  /** The payment is sent with two amounts at the same moment, through two APIs. */
  | 'clashing'

export interface PlannedPayment {
  readonly kind: PaymentKind
  /** Time after the start of the round, ms. */
  readonly atMs: number
  /** Pause between the answer to the first request and the second request, for the kinds `repeated` and `changed`. */
  readonly againMs: number
  /** The APIs to which the first and the second request go. */
  readonly apis: readonly [number, number]
  readonly id: string
  readonly user: string
  readonly device: string | undefined
  readonly ip: string | undefined
  readonly card: string | undefined
  readonly email: string | undefined
  readonly merchant: string
  readonly amount: number
  readonly currency: string
  readonly accountAgeDays: number
}

export interface PlannedBlock {
  readonly atMs: number
  readonly api: number
  readonly type: FraudBlocklistType
  readonly value: string
}

export interface PlannedFeedback {
  readonly atMs: number
  readonly api: number
  /** Id of the payment. */
  readonly id: string
  readonly verdict: FraudVerdict
  /** Unique in the round, so that it identifies the report. */
  readonly reporter: string
}

export interface PlannedRule {
  readonly atMs: number
  /** The rule's new name. It identifies the change. */
  readonly name: string
  readonly api: number
  readonly condition: string
  readonly action: 'REVIEW' | 'STEP_UP' | 'APPROVE'
  readonly mode: 'live' | 'shadow'
}

export interface Plan {
  readonly seed: number
  readonly payments: readonly PlannedPayment[]
  readonly blocks: readonly PlannedBlock[]
  readonly feedback: readonly PlannedFeedback[]
  /** Changes of the round's single rule. */
  readonly rules: readonly PlannedRule[]
  readonly faults: readonly FraudFault[]
}

export interface PlanOptions {
  /** Number of payments per second. */
  readonly rate: number
  /** The faults of a round. Each occurs once, in an order that depends on the seed. */
  readonly faults: readonly FraudFaultKind[]
  /** Prefix of all ids, so that rounds on one system do not share any. */
  readonly prefix: string
}

const MS_PER_SECOND = 1_000
/**
 * Average number of payments per user. It is so high that some users trigger the rule that asks for a review after many
 * payments within an hour.
 */
const PAYMENTS_PER_USER = 8
const MERCHANTS = 12
/**
 * Maximum number of devices per user, and likewise of addresses and of cards. Users with neighbouring indexes share
 * some of them.
 */
const SHARED_BY = 3
const SHARES: readonly (readonly [PaymentKind, number])[] = [
  ['once', 0.8],
  ['repeated', 0.08],
  ['doubled', 0.06],
  ['changed', 0.03],
  ['clashing', 0.03],
]
const LONGEST_UNTIL_AGAIN_MS = 3_000
const USUAL_AMOUNT = 100
/** Smallest of the high amounts. A payment of such an amount is reviewed even if its user's profile cannot be read. */
const HIGH_AMOUNT = 1_500
const HIGH_AMOUNTS = 0.03
const FOREIGN = 0.1
const NEW_ACCOUNTS = 0.1
const BLOCKS_PER_SECOND = 1
/** Number of payments by each blocked entity. They happen at random times shortly before or after the block. */
const PAYMENTS_PER_BLOCK = 6
const BEFORE_BLOCK_MS = 1_000
const AFTER_BLOCK_MS = 10_000
const FEEDBACK_PER_SECOND = 2
const RULES_PER_SECOND = 0.3
/**
 * For each fault, the plan contains payments and other requests for this long. Requests planned for a time after the
 * faults and the recovery are not sent.
 */
const PLANNED_PER_FAULT_MS = 3 * FAULT_TAKES_MS
const FEEDBACK_AFTER_MS = 300
const LONGEST_FEEDBACK_MS = 8_000
const TYPES: readonly FraudBlocklistType[] = ['USER', 'DEVICE', 'IP', 'CARD_HASH', 'EMAIL']
const VERDICTS: readonly FraudVerdict[] = ['CONFIRMED_FRAUD', 'CONFIRMED_FRAUD', 'FALSE_POSITIVE', 'SUSPICIOUS']

/** Draws a round. The same seed and options give the same round. */
export function drawPlan(seed: number, { rate, faults: kinds, prefix }: PlanOptions): Plan {
  const random = seededRandom(seed)
  const faults = drawFaults(random, kinds, APIS, (kind) => kind === 'bulk-stopped' || kind === 'deciding-stopped')
  const lastsMs = Math.max(1, kinds.length) * PLANNED_PER_FAULT_MS
  const count = Math.round((rate * lastsMs) / MS_PER_SECOND)
  const users = Math.ceil(count / PAYMENTS_PER_USER)
  let drawn = 0

  function payment(atMs: number, more: Partial<PlannedPayment> = {}): PlannedPayment {
    const user = integer(random, users)
    const neighbour = () => (user + integer(random, SHARED_BY)) % users
    const first = integer(random, APIS)
    return {
      kind: drawKind(random),
      atMs,
      againMs: integer(random, LONGEST_UNTIL_AGAIN_MS),
      apis: [first, (first + 1 + integer(random, APIS - 1)) % APIS],
      id: `${prefix}-t${drawn++}`,
      user: `${prefix}-u${user}`,
      device: random() < 0.9 ? `${prefix}-d${neighbour()}` : undefined,
      ip: random() < 0.9 ? addressOf(seed, neighbour()) : undefined,
      card: random() < 0.8 ? `${prefix}-c${neighbour()}` : undefined,
      email: undefined,
      merchant: `${prefix}-m${integer(random, MERCHANTS)}`,
      amount: random() < HIGH_AMOUNTS ? HIGH_AMOUNT + integer(random, USUAL_AMOUNT) : 1 + integer(random, USUAL_AMOUNT),
      currency: random() < FOREIGN ? 'EUR' : 'USD',
      accountAgeDays: random() < NEW_ACCOUNTS ? 1 : 400,
      ...more,
    }
  }

  const ordinary = Array.from({ length: count }, () => payment(integer(random, lastsMs)))
  const blocks = Array.from({ length: Math.ceil((lastsMs / MS_PER_SECOND) * BLOCKS_PER_SECOND) }, (_, index): PlannedBlock => {
    const type = TYPES[index % TYPES.length]
    return { atMs: integer(random, lastsMs), api: integer(random, APIS), type, value: blockedValue(prefix, seed, type, index) }
  })
  const blocked = blocks.flatMap(({ atMs, type, value }) =>
    Array.from({ length: PAYMENTS_PER_BLOCK }, () => {
      const at = Math.max(0, atMs - BEFORE_BLOCK_MS + integer(random, BEFORE_BLOCK_MS + AFTER_BLOCK_MS))
      return payment(at, { kind: 'once', [FIELDS[type]]: value })
    }),
  )
  const feedback = Array.from({ length: Math.ceil((lastsMs / MS_PER_SECOND) * FEEDBACK_PER_SECOND) }, (_, index): PlannedFeedback => {
    const { id, atMs } = pick(random, ordinary)
    const at = atMs + FEEDBACK_AFTER_MS + integer(random, LONGEST_FEEDBACK_MS)
    return { atMs: at, api: integer(random, APIS), id, verdict: pick(random, VERDICTS), reporter: `${prefix}-r${index}` }
  })
  const rules = Array.from(
    { length: Math.ceil((lastsMs / MS_PER_SECOND) * RULES_PER_SECOND) },
    (_, index): PlannedRule => ({
      name: `${prefix}-rule-${index}`,
      atMs: integer(random, lastsMs),
      api: integer(random, APIS),
      condition: `txn.amount >= ${integer(random, USUAL_AMOUNT)} AND velocity.user.txn_count_1h ${pick(random, ['<', '>='])} ${integer(random, PAYMENTS_PER_USER)}`,
      action: pick(random, ['REVIEW', 'STEP_UP', 'APPROVE'] as const),
      mode: pick(random, ['live', 'shadow'] as const),
    }),
  )
  const byTime = (one: { atMs: number }, other: { atMs: number }) => one.atMs - other.atMs
  return {
    seed,
    faults,
    payments: [...ordinary, ...blocked].sort(byTime),
    blocks: blocks.sort(byTime),
    feedback: feedback.sort(byTime),
    rules: rules.sort(byTime),
  }
}

/** For each entity type, the field of a payment that contains the entity. */
export const FIELDS = { USER: 'user', DEVICE: 'device', IP: 'ip', CARD_HASH: 'card', EMAIL: 'email' } as const

/**
 * Returns a distinct address per index. It is from a private network, because the address ranges for documentation are
 * too small.
 */
function addressOf(seed: number, index: number): string {
  return `10.${seed % 200}.${(index >> 8) & 255}.${index & 255}`
}

function blockedValue(prefix: string, seed: number, type: FraudBlocklistType, index: number): string {
  if (type === 'IP') return `10.${seed % 200}.${200 + (index >> 8)}.${index & 255}`
  return type === 'EMAIL' ? `${prefix}-${index}@example.com` : `${prefix}-blocked-${index}`
}

function drawKind(random: Random): PaymentKind {
  let left = random()
  for (const [kind, share] of SHARES) {
    left -= share
    if (left < 0) return kind
  }
  return 'once'
}
