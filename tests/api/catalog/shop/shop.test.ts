import { expect, onTestFinished, test, vi } from 'vitest'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import { addressOf, choiceOf, parametersOf, toggled } from '../../../../api/catalog/shop/choice.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import { stored } from '../detail/stored.ts'
import { found, HOSTILE, shopWorld } from './shop-world.ts'

test('a search can be read back from the address of its page, whatever characters its values contain', () => {
  const query = { q: 'saw & "co"', brand: ['Smith & Sons, Ltd', 'Acme'], attr: 'size:1/2 in', price_min: '', sort: 'newest', page: '3' }
  const choice = choiceOf(query)
  expect(parametersOf(choice)).toEqual({
    q: 'saw & "co"',
    brand: ['Smith & Sons, Ltd', 'Acme'],
    attr: ['size:1/2 in'],
    sort: 'newest',
    page: '3',
  })
  const address = addressOf(choice, { price_min: '25' })
  const again = Object.fromEntries(
    [...new URL(address, 'http://x').searchParams.keys()].map((name) => [name, new URL(address, 'http://x').searchParams.getAll(name)]),
  )
  // Changing a filter leads back to the first page.
  expect(choiceOf(again)).toEqual({ ...choice, price_min: '25', page: '' })
  expect(addressOf(choiceOf({}), {})).toBe('/shop')
  expect(toggled(['a', 'b'], 'a')).toEqual(['b'])
  expect(toggled(['b'], 'a')).toEqual(['b', 'a'])
})

test('the page of results shows products, escapes every text, and loads nothing from other servers', async () => {
  const { app, asked } = await shopWorld()
  const response = await app.request(`/shop?q=${encodeURIComponent(HOSTILE)}&price_min=&brand=Acme`)
  const html = await response.text()
  expect(response.status).toBe(200)
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'; img-src 'self' data:")
  expect(asked).toMatchObject([{ q: HOSTILE, brand: ['Acme'], page_size: 20, explain: false }])
  expect(html).not.toContain('<img src=x')
  expect(html).not.toContain('<script')
  expect(html).toContain('$19.99')
  expect(html).toContain('45 products')
  expect(html).toContain('Page 1 of 3')
  expect(html).toContain('Out of stock')
})

test('the number formatter for prices is created only once', async () => {
  const { app } = await shopWorld()
  await app.request('/shop')
  const created = vi.spyOn(Intl, 'NumberFormat')
  onTestFinished(() => created.mockRestore())
  expect(await (await app.request('/shop')).text()).toContain('$19.99')
  expect(created).not.toHaveBeenCalled()
})

test('the last page by number has no next page, although there are more products', async () => {
  const { app, world } = await shopWorld()
  world.answer = async () => found({ total: 50_000, page: 500 })
  const html = await (await app.request('/shop?page=500')).text()
  expect(html).toContain('Page 500 of 500')
  expect(html).not.toContain('Next page')
})

test.each([45, 12])('a page after the last one leads back to the last page of %d products', async (total) => {
  const { app, world } = await shopWorld()
  world.answer = async () => found({ results: [], total, page: 9 })
  const html = await (await app.request('/shop?q=saw&page=9')).text()
  expect(html).toContain('There are no results on this page. Go back to an earlier page.')
  expect(html).toContain(`<a rel="prev" href="/shop?q=saw${total === 45 ? '&amp;page=3' : ''}">Previous page</a>`)
})

test('a chosen brand and a chosen attribute value are always listed, however rare they are', async () => {
  const { app, world } = await shopWorld()
  const brands = Array.from({ length: 51 }, (_, index) => ({ name: `Brand ${index}`, count: 51 - index }))
  const values = Array.from({ length: 20 }, (_, index) => ({ value: `value ${index}`, count: 20 - index }))
  world.answer = async () => found({ facets: { ...found().facets, brands, attributes: [{ name: 'colour', values }] } })
  const html = await (await app.request('/shop?brand=Brand+50&attr=colour:value+19')).text()
  expect(html).toContain('aria-current="true">Brand 50</a>')
  expect(html).toContain('aria-current="true">value 19</a>')
  expect(html).not.toContain('>Brand 12</a>')
  expect(html).not.toContain('>value 8</a>')
})

test.each(['2', 'tools/saws'])('the link of the chosen category %s removes the filter', async (chosen) => {
  const { app, world } = await shopWorld()
  const categories = [
    { category_id: 2, name: 'Saws', path: 'tools/saws', count: 2 },
    { category_id: 3, name: 'Drills', path: 'tools/drills', count: 1 },
  ]
  world.answer = async () => found({ facets: { ...found().facets, categories } })
  const html = await (await app.request(`/shop?category=${chosen}&sort=newest`)).text()
  expect(html).toContain('<a href="/shop?sort=newest" aria-current="true">Saws</a>')
  expect(html).toContain('<a href="/shop?category=3&amp;sort=newest">Drills</a>')
})

test('the name of a chosen attribute is case-insensitive', async () => {
  const { app } = await shopWorld()
  const html = await (await app.request('/shop?attr=Colour:red')).text()
  expect(html).toContain('<a href="/shop" aria-current="true">red</a>')
})

test('the filter for one star uses the singular', async () => {
  const { app, world } = await shopWorld()
  const ratings = [4, 1].map((min) => ({ min, count: 2 }))
  world.answer = async () => found({ facets: { ...found().facets, ratings } })
  const html = await (await app.request('/shop')).text()
  expect(html).toContain('4 stars or more')
  expect(html).toContain('1 star or more')
})

test('an invalid value is explained on the page, and a search error is also shown as a page', async () => {
  const { app, asked, world } = await shopWorld()
  const wrong = await app.request('/shop?price_min=cheap&sort=random')
  expect(wrong.status).toBe(400)
  const text = await wrong.text()
  expect(text).toContain('The lowest price must be an amount')
  expect(text).toContain('The sort order must be one of')
  expect(asked).toEqual([])
  world.answer = async () => {
    throw new ApiError(errors.unavailable, { message: 'The search server does not respond.' })
  }
  const away = await app.request('/shop?q=saw')
  expect(away.status).toBe(503)
  expect(away.headers.get('retry-after')).not.toBeNull()
  const advice = await away.text()
  expect(advice).toContain('Please try again in a minute.')
  expect(advice).not.toContain('search server')
  world.answer = async () => {
    throw new ApiError(catalogErrors.unknown_category)
  }
  expect((await app.request('/shop?category=99')).status).toBe(400)
})

test('a page that refuses a search links to the same search without the invalid values', async () => {
  const { app, world } = await shopWorld()
  const textOf = async (query: string) => await (await app.request(`/shop?${query}`)).text()
  const prices = await textOf('q=saw&brand=Acme&attr=colour:red&price_min=20&price_max=10')
  expect(prices).toContain('<li>The lowest price must not be above the highest price.</li>')
  expect(prices).toContain('<a href="/shop?q=saw&amp;price_max=10&amp;brand=Acme&amp;attr=colour%3Ared">Search without this value</a>')
  const lists = await textOf('q=saw&brand=%20&attr=red&sort=newest')
  expect(lists).toContain('<li>The brand must not be empty.</li>')
  expect(lists).toContain('<a href="/shop?q=saw&amp;sort=newest">Search without these values</a>')
  expect(await textOf('page=0')).not.toContain('Search without')
  const page = await textOf('q=saw&page=501')
  expect(page).toContain('<li>The page number must be a whole number from 1 to 500.</li>')
  expect(page).toContain('<a href="/shop?q=saw">Search without this value</a>')
  world.answer = async () => {
    throw new ApiError(catalogErrors.unknown_category, { details: [{ path: 'query.category', message: 'does not name a category' }] })
  }
  expect(await textOf('q=saw&category=99')).toContain('<a href="/shop?q=saw">Search without this value</a>')
})

test('an invalid product id shows the same page as the id of a product that does not exist', async () => {
  const { app } = await shopWorld()
  const [missing, ...malformed] = await Promise.all(
    ['5', 'abc', '05', '%3Cb%3E', '99999999999999999999'].map(async (id) => {
      const answer = await app.request(`/shop/products/${id}`)
      return { status: answer.status, text: await answer.text() }
    }),
  )
  expect(missing).toMatchObject({ status: 404, text: expect.stringContaining('This product does not exist') })
  for (const page of malformed) expect(page).toEqual(missing)
})

test('a browser gets an error as an HTML page, and a program gets it as JSON', async () => {
  const { app, world } = await shopWorld()
  const open = async (path: string, accept: string) => {
    const answer = await app.request(path, { headers: { accept } })
    return { status: answer.status, type: answer.headers.get('content-type')?.split(';')[0], text: await answer.text() }
  }
  const page = await open('/shop?q=%00', 'text/html,*/*')
  expect(page).toMatchObject({ status: 400, type: 'text/html' })
  expect(page.text).toContain('The address must not contain NUL.')
  expect(await open('/shop?q=%00', '*/*')).toMatchObject({ status: 400, type: 'application/json' })
  world.answer = async () => {
    throw new Error('a bug')
  }
  const broken = await open('/shop', 'text/html')
  expect([broken.status, broken.type, broken.text.includes('a bug')]).toEqual([500, 'text/html', false])
})

test('the page mentions corrections, and says when few or no products have all words of the query', async () => {
  const { app, world } = await shopWorld()
  world.answer = async () => found({ did_you_mean: 'circular saw' })
  expect(await (await app.request('/shop?q=circlar+saw')).text()).toContain('Also shows results for “circular saw”')
  world.answer = async () => found({ matched: 'half', results: [], total: 0 })
  const text = await (await app.request('/shop?q=green+saw')).text()
  expect(text).toContain('Few or no products have all of these words')
  expect(text).toContain('Nothing was found')
})

test('a page shows at most four related products', async () => {
  const { app, put, values } = await shopWorld()
  for (let id = 5; id <= 12; id++) put(stored({ product_id: id, title: `Saw ${id}` }))
  values.set('{category-leaders:0}:2', '[12,11,10,9,8,7,6]')
  const html = await (await app.request('/shop/products/5')).text()
  expect([...html.matchAll(/\/shop\/products\/(\d+)/g)].map(([, id]) => id)).toEqual(['12', '11', '10', '9'])
})

test('a product is shown with its variants and the best sellers of its category, and only while it is public', async () => {
  const { app, put, values } = await shopWorld()
  put(stored({ title: HOSTILE, description: `first\n${HOSTILE}` }))
  put(stored({ product_id: 6, title: 'Better saw' }))
  put(stored({ product_id: 7, title: 'Secret saw', status: 'DRAFT' }))
  values.set('{category-leaders:0}:2', '[5,6,7]')
  const response = await app.request('/shop/products/5')
  const html = await response.text()
  expect(response.status).toBe(200)
  expect(html).not.toContain('<img src=x')
  expect(html).toContain('Tools › Saws')
  expect(html).toContain('Colour: red')
  expect(html).toContain('$25.00')
  expect(html).toContain('Better saw')
  expect(html).not.toContain('Secret saw')
  expect((await app.request('/shop/products/7')).status).toBe(404)
  const missing = await app.request('/shop/products/999')
  expect(missing.status).toBe(404)
  expect(await missing.text()).toContain('This product does not exist')
})
