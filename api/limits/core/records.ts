import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { limitTraffic, limitViolations } from '../../../schemas/limits/topics.ts'
import type { LimitTraffic, LimitTrafficEntry, LimitViolation } from '../../../schemas/limits/types.ts'
import { factBuffer } from '../../kit/fact-buffer.ts'
import type { KafkaFacts } from '../../kit/facts.ts'
import type { Logger } from '../../kit/logging.ts'
import { limitedMethod } from './endpoint-pattern.ts'
import type { DecisionListener } from './fail-open-limiter.ts'

/** Publishes violations, and the traffic of each second. */
export interface DecisionRecords {
  readonly listen: DecisionListener
  /** Publishes the traffic of the last complete second. Called every second. */
  tick(): void
  close(timeoutMs: number): Promise<void>
}

export interface DecisionRecordsOptions {
  readonly facts: Pick<KafkaFacts, 'openLog'>
  readonly registry: Registry
  readonly log: Logger
  /** Epoch ms. */
  now(): number
}

export const TICK_MS = 1_000
/**
 * Maximum number of buffered violations. An attack from many addresses can reach this number while Kafka is
 * unreachable.
 */
const VIOLATIONS_CAPACITY = 20_000
/** Maximum number of seconds whose traffic is buffered while Kafka is unreachable. */
const TRAFFIC_CAPACITY = 120
/** Maximum number of kinds of requests that are recorded per second. A kind is a caller, a method and a path. */
const MAX_KINDS = 5_000
/**
 * Maximum size of a traffic record. Kafka refuses records above one megabyte. Entries that do not fit are only counted.
 */
const MAX_TRAFFIC_BYTES = 768 * 1_024
/**
 * Maximum number of bytes of an encoded entry apart from its strings: the lengths, the counters, and the union branch
 * of the method.
 */
const ENTRY_OVERHEAD_BYTES = 32
/** Maximum length of a recorded path. No pattern of a rule is longer. */
const MAX_PATH_CHARACTERS = 200
const MS_PER_SECOND = 1_000

export function decisionRecords({ facts, registry, log, now }: DecisionRecordsOptions): DecisionRecords {
  let node = randomUUID()
  const violations = factBuffer<string, LimitViolation>({
    open: () => facts.openLog(limitViolations),
    capacity: VIOLATIONS_CAPACITY,
    registry,
    name: 'limit_violations',
    log,
  })
  const traffic = factBuffer<string, LimitTraffic>({
    open: () => facts.openLog(limitTraffic),
    capacity: TRAFFIC_CAPACITY,
    registry,
    name: 'limit_traffic',
    log,
  })
  let second = Math.floor(now() / MS_PER_SECOND)
  let kinds = new Map<string, LimitTrafficEntry>()
  let kindsBytes = 0
  let seen = new Set<string>()
  /**
   * Number of requests that no record contains: requests of this second without an entry, and all requests of the
   * preceding seconds whose records were dropped.
   */
  let leftOut = 0

  function tick(): void {
    if (kinds.size > 0) {
      const entries = [...kinds.values()]
      const isKept = traffic.offer(node, { second: second * MS_PER_SECOND, node, entries, left_out: leftOut })
      leftOut = isKept ? 0 : entries.reduce((sum, { requests }) => sum + requests, leftOut)
    }
    const next = Math.floor(now() / MS_PER_SECOND)
    // After the clock is set back, the same seconds occur again. Their records need a different key, because records
    // with the same node and second replace each other.
    if (next < second) node = randomUUID()
    second = next
    kinds = new Map()
    kindsBytes = 0
    seen = new Set()
  }

  const listen: DecisionListener = ({ method: asked, path: whole, caller, cost = 1 }, verdict) => {
    const at = now()
    if (Math.floor(at / MS_PER_SECOND) !== second) tick()
    const method = limitedMethod(asked)
    // The cut may split a surrogate pair. Half a pair cannot be encoded, so the records of the whole second would be
    // lost.
    const path = whole.slice(0, MAX_PATH_CHARACTERS).toWellFormed()
    const isRefused = verdict.outcome === 'refused'
    const { clientId, tier, apiKeyId = '', userId = '', ip } = caller
    count(`${clientId} ${tier} ${apiKeyId} ${userId} ${ip} ${method} ${path}`, cost, isRefused, () => ({
      client_id: clientId,
      tier,
      api_key_id: apiKeyId,
      user_id: userId,
      ip,
      method,
      path,
      requests: 0,
      refused: 0,
    }))
    if (!('violations' in verdict)) return
    for (const { rule, estimate } of verdict.violations) {
      const id = `${rule.rule_id} ${clientId}`
      if (seen.has(id)) continue
      seen.add(id)
      const { rule_id, action, limit_count } = rule
      violations.offer(clientId, { at, rule_id, client_id: clientId, method, path, action, estimate, limit_count })
    }
  }

  function count(kind: string, units: number, isRefused: boolean, create: () => LimitTrafficEntry): void {
    let entry = kinds.get(kind)
    if (entry === undefined) {
      const bytes = ENTRY_OVERHEAD_BYTES + Buffer.byteLength(kind)
      if (kinds.size >= MAX_KINDS || kindsBytes + bytes > MAX_TRAFFIC_BYTES) {
        leftOut += units
        return
      }
      kindsBytes += bytes
      entry = create()
      kinds.set(kind, entry)
    }
    entry.requests += units
    if (isRefused) entry.refused += units
  }

  return {
    listen,
    tick() {
      if (Math.floor(now() / MS_PER_SECOND) !== second) tick()
    },
    async close(timeoutMs) {
      tick()
      await Promise.all([violations.close(timeoutMs), traffic.close(timeoutMs)])
    },
  }
}
