import { setImmediate } from 'node:timers/promises'
import { reserve } from '../../../api/catalog/reservations/reserve.ts'
import type { CommandRequest } from '../../../api/kit/commands/commands.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import type { Answered, Shop } from './callers.ts'
import type { MemoryWorld } from './memory-world.ts'

/**
 * Creates a shop in memory. The topologies of `world` decide its commands, and the API's own code reserves the items of
 * a cart.
 * @param heldMs lifetime of reservations and carts
 */
export function memoryShop(world: MemoryWorld, heldMs: number): Shop {
  const from = (idempotencyKey: string): CommandRequest => ({ caller: undefined, address: '', idempotencyKey, requestId: '' })

  return {
    change: (key, action, line, reservation_id) =>
      answered(async () => {
        const { run } = await world.commands.open(from(key), [])
        const lines = [{ ...line, offer: 'FOR_SALE' as const }]
        const command = { action, lines, version: null, reservation_id, held_ms: heldMs }
        const answer = await run(inventoryFlow, String(Math.floor(line.variant_id / 256)), command)
        return [answer, answer.outcome === 'done' ? answer.reservations[0]?.reservation_id : undefined]
      }),
    reserve: (key, items) =>
      answered(async () => {
        const offers = { offersOf: async () => items.map(() => 'FOR_SALE' as const) }
        const cart = await reserve({ commands: world.commands, offers, reservationMs: heldMs }, from(key), { items: [...items] })
        return [cart, cart.reservation_id]
      }),
    endCart: (key, id, action) =>
      answered(async () => {
        const { run } = await world.commands.open(from(key), [])
        return [await run(reservationFlow, id, { action, parts: [], parts_end_at: null, held_ms: heldMs }), undefined]
      }),
    async pause(ms) {
      const until = world.now + ms
      while (world.now < until) await setImmediate()
    },
  }
}

async function answered(ask: () => Promise<[answer: unknown, reservationId: string | undefined]>): Promise<Answered> {
  try {
    const [answer, reservationId] = await ask()
    return { isAnswered: true, reservationId, shown: JSON.stringify(answer) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { isAnswered: error.definition !== errors.unavailable, shown: error.definition.code }
  }
}
