import { expect, test } from 'vitest'
import { curvePoints } from '../../../api/trends/page/curve.ts'
import { entry } from '../../state/views/entries.ts'
import { START } from '../kit/harness.ts'
import { trendsApi } from './harness.ts'

const HOSTILE = '<img src=x onerror=alert(1)>'

/** Time limit of a query. */
const CLICKHOUSE_TIMEOUT_MS = 6_000

async function opened(options: Parameters<typeof trendsApi>[0] = {}) {
  const api = await trendsApi(options)
  async function page(path: string) {
    const response = await api.app.request(path)
    return { status: response.status, headers: response.headers, html: await response.text() }
  }
  return { ...api, page }
}

test('the page shows a list with curves of the last day, escapes every text, and loads nothing from other origins', async () => {
  const { page, putList, table } = await opened()
  putList({
    entries: [
      entry('café', { name: HOSTILE, tweet_volume: 12_345, users: 9_876, variants: ['<b>1', '2', '3', '4', '5', '6'], related: ['tea'] }),
      entry('tea', { label: null, users: null }),
    ],
  })
  table.rows = [['café', START / 1_000, 7]]
  const { status, headers, html } = await page('/trends')
  expect(status).toBe(200)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'")
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(html).not.toContain('<img')
  expect(html).not.toContain('<script')
  expect(html).toContain('<td class="number">12,345</td><td class="number">9,876</td>')
  expect(html).toContain('<td class="number">–</td>')
  expect(html).toContain('also <bdi>&lt;b&gt;1</bdi>, <bdi>2</bdi>, <bdi>3</bdi>, <bdi>4</bdi> and 2 more')
  expect(html).toContain('related <bdi>tea</bdi>')
  expect(html).toContain('href="/trends/terms/caf%C3%A9?woeid=1"')
  expect(html).toContain('aria-label="at most 7 in half an hour"')
  expect(html).toContain('aria-label="at most 0 in half an hour"')
  expect(table.requests).toHaveLength(1)
  expect(table.requests[0].query_params).toMatchObject({ woeid: 1, terms: ['café', 'tea'], step: 1_800 })
  // The worldwide page shows every city on its map, and lists the countries below.
  expect(html.match(/<circle /g)).toHaveLength(500)
  expect(html).toContain('<a href="/trends?woeid=23424977">United States</a>')
})

test('the names of trends are isolated, so that a hashtag in a right-to-left script keeps its # at the beginning', async () => {
  const { page, putList } = await opened()
  putList({ entries: [entry('هاشتاق', { name: '#هاشتاق', variants: ['#وسم'] })] })
  const { html } = await page('/trends')
  expect(html).toContain('<bdi>#هاشتاق</bdi></a>')
  expect(html).toContain('also <bdi>#وسم</bdi>')
  expect((await page('/trends/terms/%23هاشتاق')).html).toContain('<h1><bdi>#هاشتاق</bdi></h1>')
})

test('texts have the articles, singular forms and digit separators that English requires', async () => {
  const { page, putList, table } = await opened()
  putList({ woeid: 23_424_977, entries: [entry('tea', { velocity_vs_usual: 12_345.67 })] })
  const { html } = await page('/trends?woeid=23424977')
  expect(html).toContain('<h1>Trends in the United States</h1>')
  expect(html).toContain('× 12,345.7')
  table.rows = [[START / 1_000, 1]]
  expect((await page('/trends/terms/tea')).html).toContain('Last day: 1 tweet, with a peak of 1 in')
})

test('the curves of a list are read at most once in half a minute, and the list is shown even if they cannot be read', async () => {
  const { page, putList, table, clock } = await opened()
  putList()
  await page('/trends')
  await page('/trends')
  expect(table.requests).toHaveLength(1)
  clock.now += 30_000
  table.error = new Error('ClickHouse is unreachable')
  const { status, html } = await page('/trends')
  expect([status, table.requests.length]).toEqual([200, 2])
  expect(html).toContain('The curves of the last day cannot be shown now.')
  expect(html).toContain('#term1')
  table.error = undefined
  table.caughtUp = 0
  expect((await page('/trends')).html).toContain('The curves of the last day cannot be shown now.')
})

test('while ClickHouse hangs, the page shows the list without curves after a second', async () => {
  const { page, putList, table } = await opened()
  putList()
  table.hangs = true
  const began = performance.now()
  const { status, html } = await page('/trends')
  expect(status).toBe(200)
  expect(performance.now() - began).toBeLessThan(CLICKHOUSE_TIMEOUT_MS)
  expect(html).toContain('#term1')
  expect(html).toContain('The curves of the last day cannot be shown now.')
})

test('while a server is unreachable or data is being loaded, visitors see no message about servers or views', async () => {
  const { page, putList, table, redis } = await opened({ caughtUp: false })
  const shown = async (path: string) => {
    const { status, html } = await page(path)
    return [status, /<main>(.*?)<p><a/s.exec(html)?.[1]]
  }
  const tryAgain = [503, '<h1>This page cannot be shown now</h1><p>Please try again in a minute.</p>']
  expect(await shown('/trends')).toEqual(tryAgain)
  redis.state.down = true
  expect(await shown('/trends')).toEqual(tryAgain)
  redis.state.down = false
  putList()
  table.caughtUp = 0
  expect(await shown('/trends/terms/tea')).toEqual(tryAgain)
})

test('the map of a city shows its country, and the links keep the parameter safe=true', async () => {
  const { page, putList } = await opened()
  putList({ woeid: 2_459_115, entries: [entry('shit'), entry('tea')] })
  const { html } = await page('/trends?woeid=2459115&safe=true')
  expect(html).toContain('Trends in New York')
  expect(html).not.toContain('#shit')
  expect(html).toContain('#tea')
  expect(html.match(/class="current"/g)).toHaveLength(1)
  expect(html).toContain('href="/trends?woeid=23424977&amp;safe=true"')
  expect(html).toContain('<li><a href="/trends?woeid=2459115&amp;safe=true" aria-current="page">New York</a></li>')
  expect(html).toContain('<a href="/trends?woeid=2459115">Show all terms</a>')
  expect(html).toContain('href="/trends/terms/tea?woeid=2459115&amp;safe=true"')
  for (const path of [
    '/trends?woeid=2459115&safe=true',
    '/trends?q=york&safe=true',
    '/trends/terms/tea?safe=true',
    '/trends?woeid=2&safe=true',
  ]) {
    const { html } = await page(path)
    expect(html).toContain('<input type="hidden" name="safe" value="true">')
    const links = [...html.matchAll(/href="(\/trends[^"]*)"/g)].map(([, address]) => address)
    const unsafe = links.filter((address) => !address.startsWith('/trends/files/') && !address.includes('safe=true'))
    expect(unsafe).toEqual(path.startsWith('/trends?woeid=2459115') ? ['/trends?woeid=2459115'] : [])
  }
})

test.each(['.', '..', 'a/../b', '?#&'])('the link of the term %j leads to its history', async (term) => {
  const { page, putList, table } = await opened()
  putList({ entries: [entry(term)] })
  const [, link] = /<a href="(\/trends\/terms\/[^"]+)"/.exec((await page('/trends')).html)!
  // Browsers resolve `.` and `..` before they send a request, even if they are encoded.
  const { pathname, search } = new URL(link, 'http://localhost')
  expect((await page(`${pathname}${search}`)).status).toBe(200)
  expect(table.requests.at(-1)!.query_params).toMatchObject({ term })
})

test('places are found by name', async () => {
  const { page } = await opened()
  expect((await page('/trends?q=york')).html).toContain('<a href="/trends?woeid=2459115">New York</a>')
  const none = (await page(`/trends?q=${encodeURIComponent(HOSTILE)}`)).html
  expect(none).toContain('No places with trends match this name.')
  expect(none).not.toContain('<img')
})

test('the page of a term shows its history for a day, a week or a quarter', async () => {
  const { page, table } = await opened()
  table.rows = [[START / 1_000 - 900, 40]]
  const { status, html } = await page('/trends/terms/%3Cb%3E?woeid=2459115')
  expect(status).toBe(200)
  expect(html).toContain('<h1><bdi>&lt;b&gt;</bdi></h1>')
  expect(html).toContain('Last day: 40 tweets, with a peak of 40 in the 15 minutes from')
  expect(html.match(/<tr><td>/g)).toHaveLength(96)
  expect(table.requests[0].query_params).toMatchObject({ woeid: 2_459_115, term: '<b>', step: 900 })
  await page('/trends/terms/tea?range=week')
  await page('/trends/terms/tea?range=quarter')
  expect(table.requests.slice(1).map(({ query_params }) => query_params.step)).toEqual([3_600, 86_400])
  // Unknown ranges count as a day.
  for (const range of ['year', 'constructor', '__proto__']) await page(`/trends/terms/${range}?range=${range}`)
  expect(table.requests.slice(3).map(({ query_params }) => query_params.step)).toEqual([900, 900, 900])
  table.rows = []
  expect((await page('/trends/terms/never')).html).toContain('Nobody has used this term worldwide in this period.')
})

test.each([
  ['/trends?woeid=abc', 400, 'This address is not valid'],
  ['/trends?woeid=-1', 400, 'This address is not valid'],
  ['/trends?woeid=2', 404, 'This place has no trends'],
  ['/trends/terms/tea?woeid=2', 404, 'This place has no trends'],
  ['/trends?woeid=44418', 503, 'This page cannot be shown now'],
])('%s shows an error page with the status %i', async (path, status, title) => {
  const { page } = await opened()
  const found = await page(path)
  expect([found.status, found.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
  expect(found.html).toContain(`<h1>${title}</h1>`)
  // The error messages of the API contain addresses of the API. The page shows other messages, because its readers
  // cannot use these addresses.
  expect(found.html).not.toContain('/v1/')
  expect(found.html).toContain('<label for="q">Find a place</label>')
})

test('the page says that a list is incomplete', async () => {
  const { page, putList, clock } = await opened()
  putList()
  expect((await page('/trends')).html).not.toContain('incomplete')
  clock.now += 30_000
  putList({ missing_partitions: 1 })
  const { status, html } = await page('/trends')
  expect(status).toBe(200)
  expect(html).toContain('This list is incomplete')
})

test('a list whose terms are all hidden does not say that nobody used a term', async () => {
  const { page, putList } = await opened()
  putList({ entries: [entry('fuck')] })
  const { status, html } = await page('/trends?safe=true')
  expect(status).toBe(200)
  expect(html).toContain('No terms can be shown here at the moment.')
  expect(html).not.toContain('Nobody')
})

test('a list that is more than three minutes old is not shown', async () => {
  const { page, putList, clock } = await opened()
  putList()
  clock.now += 181_000
  const { status, headers, html } = await page('/trends')
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  expect(html).not.toContain('term1')
})

test('a curve fills the width and height of its picture', () => {
  const size = { width: 10, height: 4 }
  expect(curvePoints([0, 2, 1], size)).toBe('0,4 5,0 10,2')
  expect(curvePoints([0, 0], size)).toBe('0,4 10,4')
  expect(curvePoints([5], size)).toBe('0,0')
})
