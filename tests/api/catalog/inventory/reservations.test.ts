import { expect, test } from 'vitest'
import { OTHER_VARIANT, RESERVATION_MS, stockApi, VARIANT } from './harness.ts'

type Api = Awaited<ReturnType<typeof stockApi>>

async function stocked(): Promise<Api & { stock(): Promise<number[]> }> {
  const api = await stockApi()
  await api.change('RECEIVE', 5)
  await api.change('RECEIVE', 5, {}, {}, OTHER_VARIANT)
  async function stock(): Promise<number[]> {
    const bodies = await Promise.all([VARIANT, OTHER_VARIANT].map(async (id) => (await api.send('GET', `inventory/${id}`)).body))
    return bodies.flatMap(({ available, reserved }) => [available, reserved])
  }
  return { ...api, stock }
}

const ITEMS = [
  { variant_id: VARIANT, quantity: 1 },
  { variant_id: OTHER_VARIANT, quantity: 2, warehouse_id: 'east' },
  { variant_id: VARIANT, quantity: 1 },
]

test('in a cart with two products, equal items are added up, and the cart is reserved and sold as a whole', async () => {
  const { send, stock, pass } = await stocked()
  const opened = await send('POST', 'reservations', { items: ITEMS })
  expect(opened).toMatchObject({ status: 201, body: { status: 'OPEN', is_extended: false, ended_at: null } })
  expect(opened.body.items).toEqual([
    { variant_id: VARIANT, warehouse_id: 'east', quantity: 2 },
    { variant_id: OTHER_VARIANT, warehouse_id: 'east', quantity: 2 },
  ])
  expect(await stock()).toEqual([3, 2, 3, 2])
  const path = `reservations/${opened.body.reservation_id}`
  expect(await send('GET', path)).toEqual({ status: 200, body: opened.body })
  expect(await send('POST', `${path}/checkout`)).toMatchObject({ status: 200, body: { status: 'CHECKED_OUT' } })
  await pass(1_000)
  expect(await stock()).toEqual([3, 0, 3, 0])
  for (const action of ['checkout', 'release', 'extend'])
    expect(await send('POST', `${path}/${action}`)).toMatchObject({
      status: 409,
      body: { error: 'reservation_ended', status: 'CHECKED_OUT' },
    })
  expect((await send('GET', path)).body.status).toBe('CHECKED_OUT')
})

test('a cart reserves nothing if one of its lines is refused, and a repetition gets the same response', async () => {
  const { send, stock } = await stocked()
  const items = [ITEMS[0], { variant_id: OTHER_VARIANT, quantity: 6 }]
  const refused = await send('POST', 'reservations', { items }, { key: 'cart' })
  expect(refused).toMatchObject({ status: 409, body: { error: 'out_of_stock', variant_id: OTHER_VARIANT, available: 5 } })
  expect(await stock()).toEqual([5, 0, 5, 0])
  const again = await send('POST', 'reservations', { items }, { key: 'cart' })
  expect({ ...again.body, request_id: '' }).toEqual({ ...refused.body, request_id: '' })
  expect(await stock()).toEqual([5, 0, 5, 0])
})

test('a refusal for lack of stock says which stock is too low: that of a warehouse, or that of every warehouse', async () => {
  const { send, change } = await stocked()
  await change('RECEIVE', 1, { warehouse_id: 'west' })
  const inEast = `Only 5 units of variant ${VARIANT} are available in the warehouse east.`
  expect((await change('RESERVE', 6)).body.message).toBe(inEast)
  const inWest = { variant_id: VARIANT, quantity: 2, warehouse_id: 'west' }
  const only = `Only 1 unit of variant ${VARIANT} is available in the warehouse west.`
  expect((await send('POST', 'reservations', { items: [inWest] })).body.message).toBe(only)
  const anywhere = `No warehouse has more than 5 available units of variant ${VARIANT}.`
  expect((await send('POST', 'reservations', { items: [{ variant_id: VARIANT, quantity: 6 }] })).body.message).toBe(anywhere)
})

test('DEDUCT and RELEASE do not end a reservation that belongs to a cart', async () => {
  const { send, change } = await stocked()
  const { reservation_id } = (await send('POST', 'reservations', { items: ITEMS })).body
  expect(await change('DEDUCT', 1, { reservation_id })).toMatchObject({ status: 409, body: { error: 'reservation_in_cart' } })
  expect(await change('RELEASE', 1)).toMatchObject({ status: 409, body: { error: 'reservation_ended' } })
})

test('the stock of a cart that was released or has expired becomes available again exactly once', async () => {
  const { send, stock, pass } = await stocked()
  const released = (await send('POST', 'reservations', { items: ITEMS })).body.reservation_id
  expect((await send('POST', `reservations/${released}/release`)).body.status).toBe('RELEASED')
  await pass(1_000)
  expect(await stock()).toEqual([5, 0, 5, 0])
  const forgotten = (await send('POST', 'reservations', { items: ITEMS })).body.reservation_id
  await pass(RESERVATION_MS + 2_500)
  expect((await send('GET', `reservations/${forgotten}`)).body.status).toBe('EXPIRED')
  await pass(70_000)
  expect(await stock()).toEqual([5, 0, 5, 0])
})

test('a request for a cart that has expired gets the status EXPIRED, even before the stock of the cart is available again', async () => {
  const { send, stock, pass } = await stocked()
  const { reservation_id } = (await send('POST', 'reservations', { items: ITEMS })).body
  await pass(RESERVATION_MS + 200)
  expect(await stock()).toEqual([3, 2, 3, 2])
  for (const action of ['checkout', 'release', 'extend'])
    expect(await send('POST', `reservations/${reservation_id}/${action}`)).toMatchObject({
      status: 409,
      body: { error: 'reservation_ended', status: 'EXPIRED' },
    })
})

test('a cart can be extended once, beyond the original end of its reservations', async () => {
  const { send, stock, pass } = await stocked()
  const opened = (await send('POST', 'reservations', { items: ITEMS })).body
  await pass(RESERVATION_MS - 1_500)
  const path = `reservations/${opened.reservation_id}`
  const extended = await send('POST', `${path}/extend`)
  expect(extended).toMatchObject({ status: 200, body: { is_extended: true, status: 'OPEN' } })
  expect(Date.parse(extended.body.expires_at)).toBeGreaterThan(Date.parse(opened.expires_at))
  expect(await send('POST', `${path}/extend`)).toMatchObject({ status: 409, body: { error: 'reservation_extended' } })
  await pass(RESERVATION_MS - 1_000)
  expect((await send('POST', `${path}/checkout`)).status).toBe(200)
  await pass(1_000)
  expect(await stock()).toEqual([3, 0, 3, 0])
})

test('a cart with an item that is not for sale gets 404', async () => {
  const { send, stock, offers } = await stocked()
  offers.set(OTHER_VARIANT, 'NOT_FOR_SALE')
  const refused = await send('POST', 'reservations', { items: ITEMS })
  expect(refused).toMatchObject({ status: 404, body: { error: 'variant_not_found', variant_id: OTHER_VARIANT } })
  expect(await stock()).toEqual([5, 0, 5, 0])
})

test.each([
  ['c-none', 'reservation_not_found'],
  ['r-none', 'reservation_not_found'],
  ['x'.repeat(500), 'reservation_not_found'],
  ['%00', 'invalid_encoding'],
])('a request about the reservation %s gets %s', async (id, code) => {
  const { send } = await stockApi()
  expect((await send('GET', `reservations/${id}`)).body.error).toBe(code)
  for (const action of ['checkout', 'release', 'extend']) expect((await send('POST', `reservations/${id}/${action}`)).body.error).toBe(code)
})

test.each([
  [{ items: [] }],
  [{ items: Array.from({ length: 101 }, () => ITEMS[0]) }],
  [{ items: [{ variant_id: VARIANT, quantity: 0 }] }],
  [{ items: [{ variant_id: VARIANT, quantity: 0.5 }] }],
  [{ items: [{ variant_id: 256, quantity: 1 }] }],
  [{ items: [{ variant_id: VARIANT, quantity: -1 }] }],
  [{ items: [{ variant_id: VARIANT, quantity: 2 ** 31 }] }],
  [{ items: [{ variant_id: -VARIANT, quantity: 1 }] }],
  [{ items: [{ variant_id: 2 ** 53, quantity: 1 }] }],
  [{ items: [{ variant_id: VARIANT, quantity: 1, warehouse_id: 'w'.repeat(51) }] }],
  [{ items: [{ variant_id: VARIANT, quantity: 1, price: 0 }] }],
  [{ items: [{ variant_id: VARIANT, quantity: 1, warehouse_id: '' }] }],
  [
    {
      items: [
        { variant_id: VARIANT, quantity: 2 ** 31 - 1 },
        { variant_id: VARIANT, quantity: 1 },
      ],
    },
  ],
  [{}],
])('an invalid body is refused: %o', async (body) => {
  const { send } = await stockApi()
  expect(await send('POST', 'reservations', body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})
