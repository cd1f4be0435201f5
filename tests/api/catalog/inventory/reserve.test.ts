import { expect, test } from 'vitest'
import { reserve } from '../../../../api/catalog/reservations/reserve.ts'
import type { Commands } from '../../../../api/kit/commands/commands.ts'
import { variantIdOf } from '../../../../schemas/catalog/ids.ts'
import type { Cart } from '../../../../schemas/catalog/types.ts'

const VARIANT = variantIdOf(7, 1)
const REQUEST = { caller: undefined, address: '192.0.2.1', idempotencyKey: 'key', requestId: 'r' }

test('a request that is repeated after a day, when its cart has ended, opens a new cart and leaves nothing reserved for the old one', async () => {
  const steps: string[] = []
  const cart = (reservation_id: string, status: Cart['status']) => ({ reservation_id, status })
  const answers: Record<string, object> = {
    '1:RESERVE_PART:7': { outcome: 'reserved', lines: [], ends_at: 0 },
    '1:open': { outcome: 'ended', cart: cart('c-id', 'EXPIRED') },
    '1:RELEASE_PART:7': { outcome: 'released' },
    '2:RESERVE_PART:7': { outcome: 'reserved', lines: [], ends_at: 0 },
    '2:open': { outcome: 'done', cart: cart('c-id-2', 'OPEN') },
  }
  async function run(_flow: unknown, _key: string, _body: unknown, step: string) {
    steps.push(step)
    return answers[step]
  }
  const commands = { open: async () => ({ id: 'id', run }) } as unknown as Commands
  const offers = { offersOf: async () => ['FOR_SALE'] as const }
  const opened = await reserve({ commands, offers, reservationMs: 1_000 }, REQUEST, { items: [{ variant_id: VARIANT, quantity: 1 }] })
  expect(opened).toEqual(cart('c-id-2', 'OPEN'))
  expect(steps).toEqual(Object.keys(answers))
})
