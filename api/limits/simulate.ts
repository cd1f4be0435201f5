import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LimitRule } from '../../schemas/limits/types.ts'
import { readTraffic } from '../../state/tables/limits/traffic.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { parsePattern } from './core/endpoint-pattern.ts'
import { capacityOf, elapsedUs, estimateOf, type Limit, refilled, US_PER_SECOND, windowIndexAt } from './core/formulas.ts'
import { compileRule } from './core/rule.ts'

const HOUR_MS = 3_600_000
const MOST_REJECTED = 20
/** Number of rows that are replayed in one turn of the event loop. Replaying them takes a few milliseconds. */
const ROWS_PER_TURN = 2_000

interface Tally {
  requests: number
  rejected: number
}

/** The state of a counter during a replay. */
interface Held {
  index: number
  current: number
  previous: number
  tokens: number
  since: number
}

/** Replays the decided requests of the last hour, second by second, against a draft of a rule. */
export async function simulate(draft: LimitRule, reader: TableReader, now: number) {
  const pattern = parsePattern(draft.endpoint_pattern)!
  const range = { from: now - HOUR_MS, to: now }
  const { rows, leftOut, truncated } = await readTraffic(reader, { ...range, pattern, tier: draft.tier })
  const { limit, appliesTo, identityOf } = compileRule(draft)
  const counters = new Map<string, Held>()
  const tallies = new Map<string, Tally>()
  let replayed = 0
  for (const { second, requests, caller } of rows) {
    if (++replayed % ROWS_PER_TURN === 0) await nextTurn()
    if (!appliesTo(caller)) continue
    const identity = identityOf(caller)
    const tally = tallies.get(identity) ?? { requests: 0, rejected: 0 }
    tallies.set(identity, tally)
    tally.requests += requests
    tally.rejected += requests - admitted(limit, counters, identity, second * US_PER_SECOND, requests)
  }
  const all = [...tallies]
  const sum = (of: (tally: Tally) => number) => all.reduce((total, [, tally]) => total + of(tally), 0)
  const worst = all.filter(([, { rejected }]) => rejected > 0).sort(([, one], [, other]) => other.rejected - one.rejected)
  return {
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    requests: sum(({ requests }) => requests),
    would_reject: sum(({ rejected }) => rejected),
    callers: all.length,
    most_rejected: worst.slice(0, MOST_REJECTED).map(([key, { requests, rejected }]) => ({ key, requests, would_reject: rejected })),
    left_out: leftOut,
    truncated,
  }
}

/**
 * Counts the requests of one second, and returns how many of them the rule allows. Refused requests consume no units.
 */
function admitted(limit: Limit, counters: Map<string, Held>, identity: string, nowUs: number, requests: number): number {
  const index = windowIndexAt(nowUs, limit.windowSeconds)
  const held = counters.get(identity) ?? { index, current: 0, previous: 0, tokens: capacityOf(limit), since: nowUs }
  counters.set(identity, held)
  if (limit.burst > 0) {
    held.tokens = refilled(limit, held.tokens, nowUs - held.since)
    held.since = nowUs
    const taken = Math.min(requests, Math.floor(held.tokens))
    held.tokens -= taken
    return taken
  }
  if (held.index < index) {
    held.previous = held.index === index - 1 ? held.current : 0
    held.current = 0
    held.index = index
  }
  const estimate = estimateOf(held, elapsedUs(nowUs, index, limit.windowSeconds), limit.windowSeconds)
  const taken = Math.max(0, Math.min(requests, Math.ceil(limit.limit - estimate)))
  held.current += taken
  return taken
}
