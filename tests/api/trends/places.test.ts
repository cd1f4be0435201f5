import { describe, expect, test } from 'vitest'
import { ClosestSchema, LocationSchema } from '../../../api/trends/model.ts'
import { positions } from '../../../schemas/trends/places/positions.ts'
import { regionOf } from '../../../schemas/trends/places/regions.ts'
import { trendsApi } from './harness.ts'

const { get } = await trendsApi()

describe('GET /v1/trends/available?q=', () => {
  const namesFor = async (q: string): Promise<string[]> =>
    (await get(`/v1/trends/available?q=${encodeURIComponent(q)}`)).body.map(({ name }: { name: string }) => name)

  test('finds places by the beginning of a name, in any case, with the fields of the whole list', async () => {
    const { status, headers, body } = await get('/v1/trends/available?q=lOnD')
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600'])
    expect(body).toEqual([{ woeid: 44418, name: 'London', type: 'Town', parent: 23424975, country_code: 'GB' }])
    expect(LocationSchema.strict().parse(body[0])).toEqual(body[0])
    expect((await get('/v1/trends/available?q=lOnD', { 'if-none-match': headers.get('etag')! })).status).toBe(304)
  })

  test('also finds names by the beginning of a later word, and lists them after names that begin with the text', async () => {
    expect(await namesFor('york')).toEqual(['New York'])
    expect(await namesFor('santo')).toEqual(['Santo Domingo', 'Santo Domingo Oeste', 'General Santos'])
    expect(await namesFor('new y')).toEqual(['New York'])
    expect(await namesFor('ork')).toEqual([])
  })

  test.each([
    ['sao paulo', 'São Paulo'],
    ['SÃO PAULO', 'São Paulo'],
    ['diyarbakir', 'Diyarbakır'],
    ['tolyatti', 'Tol’yatti'],
    ['Łódź', 'Lodz'],
    ['WROCŁAW', 'Wroclaw'],
    ['Đà Nẵng', 'Da Nang'],
    ['st louis', 'St. Louis'],
    ['stoke on', 'Stoke-on-Trent'],
    ['moradabad', 'Morādābād'],
    ['worldwide', 'Worldwide'],
  ])('%s finds %s', async (q, name) => {
    expect(await namesFor(q)).toContain(name)
  })

  test('finds nothing for text without letters or for unknown names, and treats special characters as text', async () => {
    for (const q of ['!', '.*', '%', 'zzz']) expect(await namesFor(q)).toEqual([])
  })

  test.each(['q=', `q=${'x'.repeat(101)}`, 'q=a&q=b', 'q=%ff'])('rejects %s', async (query) => {
    expect((await get(`/v1/trends/available?${query}`)).status).toBe(400)
  })
})

test('a search text that is given twice gets a message that says so', async () => {
  const { body } = await get('/v1/trends/available?q=a&q=b')
  expect(body.details).toEqual([{ path: 'query.q', message: 'must be given once' }])
})

describe('GET /v1/trends/closest', () => {
  test('returns the nearest city and its distance', async () => {
    const { status, headers, body } = await get('/v1/trends/closest?lat=51.75&long=-0.34')
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600'])
    // The requested position is in St Albans.
    expect(body).toEqual({ woeid: 44418, name: 'London', type: 'Town', parent: 23424975, country_code: 'GB', distance_km: 30 })
    expect(ClosestSchema.strict().parse(body)).toEqual(body)
  })

  test.each([
    ['Versailles', '48.80', '2.13', 'Paris'],
    ['Fiji, near the date line', '-17.8', '179.9', 'Brisbane'],
    ['the Pacific west of Hawaii', '21.3', '-179.9', 'Honolulu'],
    ['the north pole', '90', '0', 'Bergen'],
    ['the Gulf of Guinea', '0', '0', 'Accra'],
    ['Hoboken', '40.745', '-74.03', 'New York'],
  ])('the city nearest to %s, at latitude %s and longitude %s, is %s', async (_place, lat, long, name) => {
    expect((await get(`/v1/trends/closest?lat=${lat}&long=${long}`)).body.name).toBe(name)
  })

  test('accepts coordinates with all digits that programs print', async () => {
    // The first longitude is the one that a common geocoder returns for Paris. The second one has the most decimals
    // that JavaScript prints without an exponent.
    for (const long of ['2.3522219000000177', String(0.0000012345678901234567)]) {
      const { status, body } = await get(`/v1/trends/closest?lat=48.856614&long=${long}`)
      expect([status, body.country_code], long).toEqual([200, 'FR'])
    }
    expect((await get(`/v1/trends/closest?lat=0&long=1.${'0'.repeat(31)}`)).status).toBe(400)
  })

  test('the city nearest to the position of a city is that city itself', async () => {
    expect(positions.size).toBe(500)
    for (const [woeid, { lat, long }] of positions) {
      const { body } = await get(`/v1/trends/closest?lat=${lat}&long=${long}`)
      expect(body, regionOf(woeid)!.name).toMatchObject({ woeid, distance_km: 0 })
    }
  })

  test.each([
    ['lat=51', 'query.long'],
    ['long=0', 'query.lat'],
    ['', 'query.lat'],
    ['lat=NaN&long=0', 'query.lat'],
    ['lat=&long=0', 'query.lat'],
    ['lat=91&long=0', 'query.lat'],
    ['lat=-90.1&long=0', 'query.lat'],
    ['lat=0&long=180.5', 'query.long'],
    ['lat=1e1&long=0', 'query.lat'],
    ['lat=Infinity&long=0', 'query.lat'],
    ['lat=0x10&long=0', 'query.lat'],
    ['lat=1&lat=2&long=0', 'query.lat'],
  ])('rejects "%s", because of %s', async (query, path) => {
    const { status, body } = await get(`/v1/trends/closest?${query}`)
    expect([status, body.error, body.details[0].path]).toEqual([400, 'invalid_request', path])
  })
})
