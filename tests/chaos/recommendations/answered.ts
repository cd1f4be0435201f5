import type { Trouble } from '../troubles.ts'
import type { Call, Evidence } from './evidence.ts'

/** How soon an API must reconnect to Kafka after an outage. */
const KAFKA_FOUND_MS = 15_000
/** How soon the sinks must have refilled the views after a fault of Redis. */
const REFILLED_MS = 60_000
/** When an API is killed, the log may lack the responses that it sent during this time before the kill. */
const UNDER_WAY_MS = 5_000

const WRITES: ReadonlySet<Call['kind']> = new Set(['events', 'hide', 'preferences', 'user'])

/** Checks that calls failed only because of faults, and that accepted events and returned lists are in the log. */
export function answered(evidence: Evidence): string[] {
  return [...evidence.calls.flatMap((call) => wrongStatus(call, evidence)), ...taken(evidence), ...recorded(evidence)]
}

/**
 * Checks that a request failed only because its API was killed, because it was a write while Kafka was down, or because
 * it asked for features while Redis was down or being refilled. Features have no sensible default.
 */
function wrongStatus(call: Call, { inflicted: { apis, kafka, redis } }: Evidence): string[] {
  const { kind, status } = call
  if (status >= 200 && status < 300) return []
  const wasKilled = apis.some((trouble) => trouble.isKilled && trouble.api === call.api && meets(trouble, call))
  if (wasKilled && (status === 0 || status === 503)) return []
  if (status === 503 && WRITES.has(kind) && kafka.some((trouble) => meets(trouble, call, KAFKA_FOUND_MS))) return []
  if (status === 503 && kind === 'features' && redis.some((trouble) => meets(trouble, call, REFILLED_MS))) return []
  return [described(call)]
}

/** Checks that each accepted event is in the log, and that each event in the log with an id from a plan was sent. */
function taken({ calls, logs }: Evidence): string[] {
  const logged = new Set(logs.interactions.map(({ key, value }) => `${key} ${value?.event_id}`))
  const lost = calls
    .filter(({ kind, status }) => kind === 'events' && status === 202)
    .filter(({ user, eventIds }) => eventIds.some((id) => !logged.has(`${user} ${id}`)))
  const sent = new Set(calls.flatMap(({ user, eventIds }) => eventIds.map((id) => `${user} ${id}`)))
  const chosen = logs.interactions.filter(({ value }) => value !== null && /^s\d+-\d+$/.test(value.event_id))
  const foreign = chosen.filter(({ key, value }) => !sent.has(`${key} ${value?.event_id}`))
  return [
    ...lost.map((call) => `${described(call)}, but the log lacks at least one of these events`),
    ...foreign.map(({ key, value }) => `the log has event ${value?.event_id} of ${key}, which nobody sent`),
  ]
}

/** Checks that the log contains each list as the API returned it. Only a killed API may have lost its last lists. */
function recorded({ calls, final, logs, inflicted }: Evidence): string[] {
  const pages = new Map(logs.served.map(({ value }) => [`${value?.request_id} ${value?.items[0].position}`, value]))
  return [...calls, ...final]
    .filter((call) => isList(call) && call.status === 200 && call.body.recommendations.length > 0)
    .flatMap((call) => {
      const { request_id, recommendations, features_offset } = call.body
      const found = [...pages.values()].find(
        (value) =>
          value?.request_id === request_id &&
          value?.features_offset === features_offset &&
          value?.items.map(({ item_id }) => String(item_id)).join() === recommendations.map(({ item_id }: Item) => item_id).join(),
      )
      return found !== undefined || mayBeLost(call, inflicted) ? [] : [`${described(call)} is not in the log of answers`]
    })
}

function mayBeLost(call: Call, { apis, kafka }: Evidence['inflicted']): boolean {
  return apis.some((killed) => {
    if (!killed.isKilled || killed.api !== call.api || killed.to < call.from) return false
    return (
      killed.from - call.to < UNDER_WAY_MS || kafka.some((trouble) => trouble.from <= killed.from && trouble.to >= call.to - UNDER_WAY_MS)
    )
  })
}

export interface Item {
  readonly item_id: string
}

export function isList({ kind }: Call): boolean {
  return kind === 'list' || kind === 'page'
}

/** Returns whether a call overlaps a fault, or the period of `laterMs` after it. */
function meets(trouble: Trouble, { from, to }: Trouble, laterMs = 0): boolean {
  return from <= trouble.to + laterMs && to >= trouble.from
}

export function described({ kind, user, api, from, to, status, body, eventIds }: Call): string {
  return `${kind} of ${user} at API ${api}, ${from} to ${to}, events ${eventIds.join()}: ${status} ${JSON.stringify(body)}`.slice(0, 1_000)
}
