import { setTimeout as delay } from 'node:timers/promises'
import type { FraudSystem } from '../../api/fraud/system.ts'
import { send } from '../send.ts'
import { APIS, type Plan, type PlannedPayment } from './plan.ts'
import { type Calls, OTHER_AMOUNT, scoreBody, wasAnswered } from './requests.ts'

/** A caller that gets no answer repeats its request. Faults last a few seconds. */
const SCORE_ATTEMPTS = 40
const AGAIN_AFTER_MS = 250
const FEEDBACK_ATTEMPTS = 12
const BLOCK_ATTEMPTS = 4

/**
 * Sends everything that a plan wants at its time, and records the calls. A request to an API that is not ready goes to
 * the next one, as a load balancer would do it. A scoring request without an answer is repeated.
 * @param isReady whether a load balancer would send requests to the API
 */
export async function drive(system: FraudSystem, plan: Plan, isReady: (api: number) => boolean): Promise<Calls> {
  const { apis, token } = system
  const calls: Calls = { scores: [], blocks: [], feedback: [] }
  const startedAt = Date.now()

  async function at(atMs: number): Promise<void> {
    const leftMs = startedAt + atMs - Date.now()
    if (leftMs > 0) await delay(leftMs)
  }

  async function call(wanted: number, path: string, body: unknown, key?: string) {
    const [api = wanted] = Array.from({ length: APIS }, (_, step) => (wanted + step) % APIS).filter(isReady)
    const from = Date.now()
    const answer = await send(`${apis[api].url}/api/v1/${path}`, { method: 'POST', token, body, key })
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
    const { kind, atMs, againMs, apis: places, amount } = payment
    await at(atMs)
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

  async function block({ atMs, api, type, value }: Plan['blocks'][number]): Promise<void> {
    await at(atMs)
    const body = { entity_type: type, entity_value: value, reason: 'chaos', ttl_hours: 1 }
    for (let attempt = 0; attempt < BLOCK_ATTEMPTS; attempt++) {
      const answer = await call(api + attempt, 'blocklist', body)
      calls.blocks.push({ ...answer, type, value })
      if (wasAnswered(answer)) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  async function report({ atMs, api, id, verdict, reporter }: Plan['feedback'][number]): Promise<void> {
    await at(atMs)
    const body = { reporter, verdict, notes: 'chaos' }
    for (let attempt = 0; attempt < FEEDBACK_ATTEMPTS; attempt++) {
      const answer = await call(api + attempt, `transactions/${id}/feedback`, body)
      calls.feedback.push({ ...answer, id, verdict, reporter })
      if (wasAnswered(answer)) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  await Promise.all([...plan.payments.map(pay), ...plan.blocks.map(block), ...plan.feedback.map(report)])
  return calls
}
