import { expect, test } from 'vitest'
import { RESERVATION_MS, stockApi, VARIANT } from './harness.ts'

const MOST_UNITS = 2 ** 31 - 1

test('stock is received, reserved, sold, released and adjusted, and a GET shows the resulting numbers', async () => {
  const { change, send, now } = await stockApi()
  const stock = async () => (await send('GET', `inventory/${VARIANT}`)).body
  expect(await change('RECEIVE', 5)).toMatchObject({ status: 200, body: { available: 5, reserved: 0, version: 1, reservation_id: null } })
  const first = await change('RESERVE', -3)
  expect(first).toMatchObject({ status: 200, body: { variant_id: VARIANT, warehouse_id: 'east', available: 2, reserved: 3, version: 2 } })
  expect(Date.parse(first.body.expires_at)).toBeLessThanOrEqual(now() + RESERVATION_MS)
  const row = { warehouse_id: 'east', available: 2, reserved: 3, version: 2 }
  expect(await stock()).toEqual({ variant_id: VARIANT, available: 2, reserved: 3, warehouses: [row] })
  const { reservation_id } = first.body
  expect((await change('DEDUCT', 1, { reservation_id })).body).toMatchObject({ available: 2, reserved: 2, version: 3, reservation_id })
  expect((await change('RELEASE', 2, { reservation_id })).body).toMatchObject({ available: 4, reserved: 0, version: 4 })
  expect((await change('ADJUST', -1)).body).toMatchObject({ available: 3, reserved: 0, version: 5 })
  expect(await stock()).toMatchObject({ available: 3, reserved: 0 })
})

test('a DEDUCT without a reservation_id takes its units from the oldest reservations, and the response names each of them', async () => {
  const { change } = await stockApi()
  await change('RECEIVE', 5)
  const [one, two] = [await change('RESERVE', 2), await change('RESERVE', 2)]
  const sold = await change('DEDUCT', 3)
  expect(sold.body).toMatchObject({ available: 1, reserved: 1, reservation_id: null, expires_at: null })
  expect(sold.body.reservations).toMatchObject([
    { reservation_id: one.body.reservation_id, quantity: 2 },
    { reservation_id: two.body.reservation_id, quantity: 1 },
  ])
})

test('reserved stock becomes available again exactly once when its reservation expires', async () => {
  const { change, send, pass } = await stockApi()
  await change('RECEIVE', 1)
  const { reservation_id } = (await change('RESERVE', 1)).body
  await pass(RESERVATION_MS + 2_000)
  expect((await send('GET', `inventory/${VARIANT}`)).body).toMatchObject({ available: 1, reserved: 0 })
  expect(await change('DEDUCT', 1, { reservation_id })).toMatchObject({ status: 409, body: { error: 'reservation_ended' } })
  await pass(60_000)
  expect((await send('GET', `inventory/${VARIANT}`)).body).toMatchObject({ available: 1, reserved: 0 })
})

test('a refused change of the stock gets the error code of its cause, and leaves the stock unchanged', async () => {
  const { change, send } = await stockApi()
  await change('RECEIVE', 2)
  await change('RESERVE', 1)
  const refused = async (operation: string, quantity: number, more: object = {}) => {
    const { status, body } = await change(operation, quantity, more)
    return [status, body.error]
  }
  expect(await change('RESERVE', 2)).toMatchObject({ status: 409, body: { error: 'out_of_stock', available: 1 } })
  expect(await refused('ADJUST', -2)).toEqual([409, 'out_of_stock'])
  expect(await refused('RESERVE', 1, { warehouse_id: 'west' })).toEqual([409, 'out_of_stock'])
  expect(await change('RESERVE', 1, { version: 1 })).toMatchObject({
    status: 409,
    body: { error: 'version_conflict', available: 1, reserved: 1, version: 2 },
  })
  expect(await refused('DEDUCT', 2)).toEqual([409, 'reservation_ended'])
  expect(await refused('RELEASE', 1, { reservation_id: 'r-none' })).toEqual([409, 'reservation_ended'])
  expect(await refused('ADJUST', 1, { warehouse_id: 'west' })).toEqual([400, 'invalid_request'])
  expect(await refused('RECEIVE', MOST_UNITS)).toEqual([400, 'invalid_request'])
  expect((await send('GET', `inventory/${VARIANT}`)).body).toMatchObject({ available: 1, reserved: 1 })
  expect((await change('RESERVE', 1, { version: 2 })).status).toBe(200)
})

test('the expected version can be given in If-Match instead of in the body', async () => {
  const { change } = await stockApi()
  expect((await change('RECEIVE', 2, { version: 0 })).status).toBe(200)
  expect(await change('RESERVE', 1, {}, { ifMatch: '"2"' })).toMatchObject({ status: 409, body: { error: 'version_conflict', version: 1 } })
  expect(await change('RESERVE', 1, { version: 1 }, { ifMatch: '"2"' })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect((await change('RESERVE', 1, {}, { ifMatch: '"1"' })).status).toBe(200)
})

test('a variant that is not for sale cannot be reserved, but its stock can still be received, read and sold', async () => {
  const { change, send, offers } = await stockApi()
  await change('RECEIVE', 3)
  const { reservation_id } = (await change('RESERVE', 1, {}, { key: 'before' })).body
  for (const offer of ['NOT_FOR_SALE', 'UNKNOWN'] as const) {
    offers.set(VARIANT, offer)
    expect(await change('RESERVE', 1)).toMatchObject({ status: 404, body: { error: 'variant_not_found' } })
    expect((await change('RECEIVE', 1)).status).toBe(200)
    expect((await send('GET', `inventory/${VARIANT}`)).status).toBe(200)
    expect((await change('RESERVE', 1, {}, { key: 'before' })).body.reservation_id).toBe(reservation_id)
  }
  expect((await change('DEDUCT', 1, { reservation_id })).status).toBe(200)
})

// The view of products does not contain deleted products, so their variants are UNKNOWN.
test.each(['DEDUCT', 'RELEASE'] as const)('%s ends a reservation whose product was deleted', async (operation) => {
  const { change, send, offers } = await stockApi()
  await change('RECEIVE', 3)
  const { reservation_id } = (await change('RESERVE', 2)).body
  offers.set(VARIANT, 'UNKNOWN')
  const available = operation === 'RELEASE' ? 3 : 1
  expect(await change(operation, 2, { reservation_id })).toMatchObject({ status: 200, body: { available, reserved: 0 } })
  expect((await send('GET', `inventory/${VARIANT}`)).body.warehouses).toMatchObject([{ available, reserved: 0 }])
})

test('requests about the stock of a variant that does not exist get 404', async () => {
  const { change, send } = await stockApi()
  const unknown = 99 * 256 + 1
  for (const operation of ['RESERVE', 'DEDUCT', 'RELEASE', 'RECEIVE', 'ADJUST'])
    expect(await change(operation, 1, {}, {}, unknown)).toMatchObject({ status: 404, body: { error: 'variant_not_found' } })
  for (const id of [String(unknown), '256', '0', '-1', '1e3', 'x', '9007199254740993'])
    expect(await send('GET', `inventory/${id}`)).toMatchObject({ status: 404, body: { error: 'variant_not_found' } })
})

test.each([
  ['quantity_delta', { quantity_delta: 0 }],
  ['quantity_delta', { quantity_delta: 1.5 }],
  ['quantity_delta', { quantity_delta: MOST_UNITS + 1 }],
  ['quantity_delta', { quantity_delta: '1' }],
  ['warehouse_id', { warehouse_id: '' }],
  ['warehouse_id', { warehouse_id: 'w'.repeat(51) }],
  ['operation', { operation: 'STEAL' }],
  ['reservation_id', { reservation_id: 'r-1' }],
  ['reservation_id', { operation: 'DEDUCT', reservation_id: 'r'.repeat(101) }],
  ['reservation_id', { operation: 'RELEASE', reservation_id: '' }],
  ['quantity_delta', { quantity_delta: -MOST_UNITS - 1 }],
  ['version', { version: 0.5 }],
  ['version', { version: -1 }],
  ['body', { sold: 1 }],
])('a wrong %s is refused: %o', async (path, wrong) => {
  const { change } = await stockApi()
  const { status, body } = await change('RESERVE', 1, wrong)
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(body.details[0].path).toContain(path)
})

test('a warehouse_id of 50 characters outside the Basic Multilingual Plane is accepted', async () => {
  const { change } = await stockApi()
  const warehouse_id = '🏬'.repeat(50)
  expect(await change('RECEIVE', 1, { warehouse_id })).toMatchObject({ status: 200, body: { warehouse_id } })
})

test('only internal callers and administrators see and change stock', async () => {
  const { change, send } = await stockApi()
  const seller = { sub: '7', scope: 'seller' }
  for (const [claims, status] of [
    [null, 401],
    [seller, 403],
    [{ sub: 'ops', scope: 'admin' }, 200],
  ] as const) {
    expect((await change('RECEIVE', 1, {}, { claims })).status).toBe(status)
    expect((await send('GET', `inventory/${VARIANT}`, undefined, { claims })).status).toBe(status)
  }
})
