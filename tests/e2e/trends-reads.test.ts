import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from './system.ts'
import { get } from './trends-api.ts'

let system: System

beforeAll(async () => {
  system = await startSystem({ workers: 1, apis: 2 })
})

afterAll(async () => {
  await system?.finish()
})

test('every process finds places by name and by position, with the same bytes', async () => {
  for (const path of ['/v1/trends/available?q=sao', '/v1/trends/closest?lat=-23.6&long=-46.6']) {
    const [one, other] = await Promise.all(system.apis.map((api) => get(api, path)))
    expect([one.status, other.status, other.text]).toEqual([200, 200, one.text])
    expect(one.text).toContain('"São Paulo"')
    expect(one.headers.get('etag')).toBe(other.headers.get('etag'))
  }
  expect((await get(system.apis[0], '/v1/trends/closest?lat=91&long=0')).status).toBe(400)
})
