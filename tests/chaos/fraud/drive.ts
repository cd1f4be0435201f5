import { setTimeout as delay } from 'node:timers/promises'
import type { FraudSystem } from '../../api/fraud/system.ts'
import { send } from '../send.ts'
import { APIS, type Plan, type PlannedBlock, type PlannedFeedback, type PlannedPayment, type PlannedRule } from './plan.ts'
import { type Calls, OTHER_AMOUNT, RULE_ID, scoreBody, wasAnswered } from './requests.ts'

/**
 * Maximum number of attempts for a scoring request that fails. All attempts together outlast a fault, which takes a few
 * seconds.
 */
const SCORE_ATTEMPTS = 40
const AGAIN_AFTER_MS = 250
const FEEDBACK_ATTEMPTS = 12
const BLOCK_ATTEMPTS = 4
const LOOK_EVERY_MS = 1_000

interface Planned {
  readonly atMs: number
  readonly work: () => Promise<void>
}

export interface Driving {
  /** Returns whether a load balancer would send requests to the API. */
  isReady(api: number): boolean
  /**
   * Returns whether the faults have ended and all processes are ready again. After that, the remaining planned requests
   * are skipped.
   */
  isOver(): boolean
  /**
   * Maximum number of planned requests in progress. A request is in progress until its repetitions have ended. Further
   * requests start late.
   */
  readonly mostInProgress: number
}

/**
 * Sends the requests of a plan at their planned times, and records the calls. If an API is not ready, its requests go
 * to the next API, as a load balancer would do. All requests except rule changes are retried if they fail.
 */
export async function drive(system: FraudSystem, plan: Plan, { isReady, isOver, mostInProgress }: Driving): Promise<Calls> {
  const { apis, token } = system
  const calls: Calls = { scores: [], blocks: [], feedback: [], rules: [] }
  const startedAt = Date.now()

  /**
   * Starts each request at its planned time, or later if too many are in progress, until `isOver` returns true. Uses
   * one timer at a time, because a timer per request would keep the driver busy.
   */
  async function playAll(planned: readonly Planned[]): Promise<void> {
    const begun = new Set<Promise<void>>()
    for (const { atMs, work } of planned.toSorted((one, other) => one.atMs - other.atMs)) {
      const leftMs = () => startedAt + atMs - Date.now()
      for (let left = leftMs(); left > 0 && !isOver(); left = leftMs()) await delay(Math.min(left, LOOK_EVERY_MS))
      while (begun.size >= mostInProgress) await Promise.race(begun)
      if (isOver()) break
      const working = work().finally(() => begun.delete(working))
      begun.add(working)
    }
    await Promise.all(begun)
  }

  async function call(wanted: number, path: string, body: unknown, method = 'POST') {
    const [api = wanted] = Array.from({ length: APIS }, (_, step) => (wanted + step) % APIS).filter(isReady)
    const from = Date.now()
    const answer = await send(`${apis[api].url}/api/v1/${path}`, { method, token, body })
    return { ...answer, api, from, to: Date.now() }
  }

  async function score(payment: PlannedPayment, first: number, amount: number, time: string): Promise<void> {
    for (let attempt = 0; attempt < SCORE_ATTEMPTS; attempt++) {
      const answer = await call(first + attempt, 'transactions/score', scoreBody(payment, amount, time))
      calls.scores.push({ ...answer, payment, amount })
      if (answer.status === 200 || answer.status === 409) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  async function pay(payment: PlannedPayment): Promise<void> {
    const { kind, againMs, apis: places, amount } = payment
    const time = new Date().toISOString()
    const other = kind === 'changed' || kind === 'clashing' ? amount + OTHER_AMOUNT : amount
    const first = score(payment, places[0], amount, time)
    if (kind === 'once') return await first
    if (kind === 'repeated' || kind === 'changed') {
      await first
      await delay(againMs)
    }
    await Promise.all([first, score(payment, places[1], other, time)])
  }

  async function block({ api, type, value }: PlannedBlock): Promise<void> {
    const body = { entity_type: type, entity_value: value, reason: 'chaos', ttl_hours: 1 }
    for (let attempt = 0; attempt < BLOCK_ATTEMPTS; attempt++) {
      const answer = await call(api + attempt, 'blocklist', body)
      calls.blocks.push({ ...answer, type, value })
      if (wasAnswered(answer)) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  async function report({ api, id, verdict, reporter }: PlannedFeedback): Promise<void> {
    const body = { reporter, verdict, notes: 'chaos' }
    for (let attempt = 0; attempt < FEEDBACK_ATTEMPTS; attempt++) {
      const answer = await call(api + attempt, `transactions/${id}/feedback`, body)
      calls.feedback.push({ ...answer, id, verdict, reporter })
      if (wasAnswered(answer)) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  async function changeRule({ api, name, condition, action, mode }: PlannedRule): Promise<void> {
    const body = { name, condition, action, mode, priority: 1 }
    calls.rules.push({ name, ...(await call(api, `rules/${RULE_ID}`, body, 'PUT')) })
  }

  await playAll([
    ...plan.payments.map((each) => ({ atMs: each.atMs, work: () => pay(each) })),
    ...plan.blocks.map((each) => ({ atMs: each.atMs, work: () => block(each) })),
    ...plan.feedback.map((each) => ({ atMs: each.atMs, work: () => report(each) })),
    ...plan.rules.map((each) => ({ atMs: each.atMs, work: () => changeRule(each) })),
  ])
  return calls
}
