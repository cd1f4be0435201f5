import { setTimeout as delay } from 'node:timers/promises'
import type { ApiProcess } from '../../api/api-process.ts'
import type { Answered, Shop } from './callers.ts'

/** Time limit of a call. A killed or stopped API must not block a caller for long. */
const CALL_TIMEOUT_MS = 12_000
const UNANSWERED: Answered = { isAnswered: false, shown: '' }
const ENDINGS = { CHECK_OUT: 'checkout', RELEASE: 'release', EXTEND: 'extend' } as const

/**
 * Returns a shop that reaches the stock through real APIs.
 * @param choose returns the API for the next request
 */
export function httpShop(choose: () => ApiProcess, token: string): Shop {
  async function ask(key: string, method: string, path: string, body?: object): Promise<Answered> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key }
    try {
      const response = await fetch(`${choose().url}/api/v1/${path}`, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      })
      const { request_id: _own, ...answer } = (await response.json()) as { request_id?: string; reservation_id?: string | null }
      if (response.status >= 500) return UNANSWERED
      const reservationId = response.ok ? (answer.reservation_id ?? undefined) : undefined
      return { isAnswered: true, reservationId, shown: `${response.status} ${JSON.stringify(answer)}` }
    } catch {
      return UNANSWERED
    }
  }

  return {
    change(key, operation, { variant_id, warehouse_id, quantity }, reservation_id) {
      const named = reservation_id === null ? {} : { reservation_id }
      return ask(key, 'PATCH', `inventory/${variant_id}`, { warehouse_id, quantity_delta: quantity, operation, ...named })
    },
    reserve: (key, items) => ask(key, 'POST', 'reservations', { items }),
    endCart: (key, id, action) => ask(key, 'POST', `reservations/${id}/${ENDINGS[action]}`),
    pause: (ms) => delay(ms),
  }
}
