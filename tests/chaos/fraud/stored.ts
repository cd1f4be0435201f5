import { ENTITY_KINDS, entityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf, judgedEntities } from '../../../schemas/fraud/events.ts'

import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudProfile } from '../../../schemas/fraud/types.ts'
import { differences } from '../judge.ts'
import type { Evidence, Logs } from './evidence.ts'

/** Size of a row in bytes. All packed columns whose row order does not matter have rows of this size. */
const SEEN_BYTES = 16
/** Tolerance for sums of floating-point numbers, which depend on the order of addition. */
const TOLERANCE = 1e-9

/** Checks that each logged transaction is in each table once, and is counted once in each of its profiles. */
export function stored(evidence: Evidence): string[] {
  return [...transactions(evidence), ...profiles(evidence)]
}

/**
 * Checks that the log has only payments that were sent, and that each logged payment is in both tables once. Each row
 * of the table of transactions must contain the first answer.
 */
function transactions({ calls, logs, tables }: Evidence): string[] {
  const eventsOfId = Map.groupBy(
    logs.scored.map(({ value }) => value),
    ({ request }) => request.transaction_id,
  )
  const asked = new Set(calls.scores.map(({ payment }) => payment.id))
  const ids = [...eventsOfId.keys()].sort()
  const found = [
    ...ids.filter((id) => !asked.has(id)).map((id) => `the log has transaction ${id}, which nobody sent`),
    ...differences('the table of transactions', ids, tables.transactions.map(({ transaction_id }) => transaction_id).sort()),
    ...differences('the table of features', ids, [...tables.features].sort()),
  ]
  for (const row of tables.transactions) {
    const events = eventsOfId.get(row.transaction_id) ?? []
    const first = Math.min(...events.map(({ scored_at }) => scored_at))
    const isFirst = events.some(
      ({ scored_at, request_id, decision, risk_score }) =>
        scored_at === first && request_id === row.request_id && decision === row.decision && risk_score === row.risk_score,
    )
    if (!isFirst && events.length > 0) found.push(`the row ${JSON.stringify(row)} is not the first answer to its transaction`)
  }
  return found
}

/** Computes the profiles from the log. Each transaction counts once, even if it was logged repeatedly. */
export function expectedProfiles({ scored, feedback }: Pick<Logs, 'scored' | 'feedback'>): Map<string, FraudProfile> {
  const profiles = new Map<string, FraudProfile>()
  const counted = new Set<string>()
  for (const { value } of scored) {
    if (counted.has(value.request.transaction_id)) continue
    counted.add(value.request.transaction_id)
    for (const { kind, entityId, event } of eventsOf(value.request)) {
      const key = entityKey(kind, entityId)
      profiles.set(key, foldEvents(profiles.get(key) ?? NEW_PROFILE, PROFILE_SHAPES[kind], [event]))
    }
  }
  for (const { value } of feedback) {
    const { verdict, previous_verdict, at, previous_at } = value
    const ids = judgedEntities(value)
    for (const kind of ENTITY_KINDS) {
      const id = ids[kind]
      if (id === null) continue
      const key = entityKey(kind, id)
      const judged = { verdict, previous: previous_verdict, at, previous_at }
      profiles.set(key, foldVerdict(profiles.get(key) ?? NEW_PROFILE, kind, judged))
    }
  }
  return profiles
}

function profiles({ logs, shown }: Evidence): string[] {
  return [...expectedProfiles(logs)].flatMap(([key, expected]) => [
    ...difference(`the topic's profile of ${key}`, expected, logs.profiles.get(key)),
    ...difference(`the profile of ${key} in Redis`, expected, shown.get(key)),
  ])
}

function difference(what: string, expected: FraudProfile, is: FraudProfile | undefined): string[] {
  if (is === undefined) return [`${what} is missing`]
  const names = (Object.keys(expected) as (keyof FraudProfile)[]).filter((name) => name !== 'included')
  const wrong = names.filter((name) => !isEqual(name, expected[name], is[name]))
  return wrong.map((name) => `${what}: ${name} is ${text(is[name])} instead of ${text(expected[name])}`)
}

function isEqual(name: keyof FraudProfile, one: FraudProfile[keyof FraudProfile], other: typeof one): boolean {
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other))
    return SEEN_COLUMNS.has(name) ? rowsOf(one).join() === rowsOf(other).join() : one.equals(other)
  if (typeof one === 'number' && typeof other === 'number')
    return Math.abs(one - other) <= TOLERANCE * Math.max(1, Math.abs(one), Math.abs(other))
  return JSON.stringify(one) === JSON.stringify(other)
}

const SEEN_COLUMNS: ReadonlySet<keyof FraudProfile> = new Set(['users', 'devices', 'ips', 'cards', 'merchants'])

function rowsOf(column: Buffer): string[] {
  return Array.from({ length: column.length / SEEN_BYTES }, (_, row) =>
    column.toString('hex', row * SEEN_BYTES, (row + 1) * SEEN_BYTES),
  ).sort()
}

function text(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : JSON.stringify(value)
}
