import { expect, test } from 'vitest'
import { reserve } from '../../../../api/catalog/reservations/reserve.ts'
import type { Commands } from '../../../../api/kit/commands/commands.ts'
import { variantIdOf } from '../../../../schemas/catalog/ids.ts'
import type { Cart } from '../../../../schemas/catalog/types.ts'

const VARIANT = variantIdOf(7, 1)
const REQUEST = { caller: undefined, address: '192.0.2.1', idempotencyKey: 'key', requestId: 'r' }

/**
 * Reserves one unit.
 * @param answers the answers to the steps of the command
 */
async function reserveWith(answers: Record<string, object>) {
  const steps: string[] = []
  async function run(_flow: unknown, _key: string, _body: unknown, step: string) {
    steps.push(step)
    return answers[step]
  }
  const commands = { open: async () => ({ id: 'id', run }) } as unknown as Commands
  const offers = { offersOf: async () => ['FOR_SALE'] as const }
  const opened = await reserve({ commands, offers, reservationMs: 1_000 }, REQUEST, { items: [{ variant_id: VARIANT, quantity: 1 }] })
  return { opened, steps }
}

const cart = (reservation_id: string, status: Cart['status']) => ({ reservation_id, status })
const SECOND = {
  '2:RESERVE_PART:7': { outcome: 'reserved', lines: [], ends_at: 0 },
  '2:open': { outcome: 'done', cart: cart('c-id-2', 'OPEN') },
}

test.each([
  ['has ended', { lines: [], ends_at: 0 }, { outcome: 'ended', cart: cart('c-id', 'EXPIRED') }],
  ['was never opened', { lines: [], ends_at: 0, was_open: true }, { outcome: 'parts_ended' }],
])(
  'a request that is repeated after a day, when its cart %s, opens a new cart and releases the units that it reserved for the old cart',
  async (_, part, open) => {
    const answers = {
      '1:RESERVE_PART:7': { outcome: 'reserved', ...part },
      '1:open': open,
      '1:RELEASE_PART:7': { outcome: 'released' },
      ...SECOND,
    }
    const { opened, steps } = await reserveWith(answers)
    expect(opened).toEqual(cart('c-id-2', 'OPEN'))
    expect(steps).toEqual(Object.keys(answers))
  },
)

test('a request that is repeated after a day, just after its cart was checked out, does not return the sold units to the stock', async () => {
  const answers = {
    '1:RESERVE_PART:7': { outcome: 'reserved', lines: [], ends_at: 0, was_open: true },
    '1:open': { outcome: 'ended', cart: cart('c-id', 'CHECKED_OUT') },
    ...SECOND,
  }
  const { opened, steps } = await reserveWith(answers)
  expect(opened).toEqual(cart('c-id-2', 'OPEN'))
  expect(steps).toEqual(Object.keys(answers))
})

test('if five attempts to open a cart are all too late, the caller is asked for a new Idempotency-Key and gets no command_id', async () => {
  const attempts = [1, 2, 3, 4, 5].flatMap((number) => [
    [`${number}:RESERVE_PART:7`, { outcome: 'reserved', lines: [], ends_at: 0 }],
    [`${number}:open`, { outcome: 'parts_ended' }],
    [`${number}:RELEASE_PART:7`, { outcome: 'released' }],
  ])
  await expect(reserveWith(Object.fromEntries(attempts))).rejects.toMatchObject({
    message: expect.stringContaining('Try again with a new Idempotency-Key'),
    options: { needsNewKey: true },
  })
})
