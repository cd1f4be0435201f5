import { describe, expect, onTestFinished, test } from 'vitest'
import { type RunningServer, startServer } from '../../api/kit/server.ts'
import { stored } from '../api/catalog/detail/stored.ts'
import { found, HOSTILE, shopWorld } from '../api/catalog/shop/shop-world.ts'
import { background, useChromium } from './chromium.ts'

const LONG = 'verylongword'.repeat(12)

describe('the shop in Chromium', () => {
  const open = useChromium()

  async function opened(options: Parameters<typeof open>[1] = {}) {
    const world = await shopWorld()
    const server: RunningServer = await startServer({ ...world, host: '127.0.0.1', port: 0, now: () => world.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    return { ...world, ...(await open(server.url, options)) }
  }

  test('without scripts, products can be searched, filtered, sorted and opened', async () => {
    const { page, complaints, asked, put } = await opened({ javaScriptEnabled: false })
    put(stored())
    await page.goto('/shop')
    await page.getByLabel('Search products').fill('circular saw')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Results for “circular saw”' }).waitFor()
    await page.getByRole('link', { name: 'Smith & Sons, Ltd' }).click()
    await page.getByRole('link', { name: 'red' }).click()
    await page.getByRole('link', { name: '$0.00 to $25.00' }).click()
    await page.getByLabel('Sort by').selectOption('price_asc')
    await page.getByRole('button', { name: 'Sort' }).click()
    await page.getByRole('link', { name: 'Next page' }).click()
    await page.getByText('Page 1 of 3').waitFor()
    expect(asked.at(-1)).toMatchObject({
      q: 'circular saw',
      brand: ['Smith & Sons, Ltd'],
      attr: ['colour:red'],
      price_min: 0,
      price_max: 2_499,
      sort: 'price_asc',
      page: 2,
    })
    expect(await page.getByRole('link', { name: 'red' }).getAttribute('aria-current')).toBe('true')
    // The same link removes the filter.
    await page.getByRole('link', { name: 'red' }).click()
    expect(asked.at(-1)).toMatchObject({ attr: [], brand: ['Smith & Sons, Ltd'] })
    await page.getByRole('link', { name: 'Saw 5' }).click()
    await page.getByRole('heading', { name: 'Saw', exact: true }).waitFor()
    expect(await page.textContent('table')).toContain('Colour: red')
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })

  test('markup in texts is shown as plain text, and the pages follow dark mode and fit a narrow screen', async () => {
    const { page, complaints, put, world } = await opened({ viewport: { width: 360, height: 640 } })
    put(stored({ title: HOSTILE.repeat(4), description: HOSTILE }))
    const [variant] = stored().variants
    put(stored({ product_id: 6, title: LONG, brand: LONG, description: LONG, variants: [{ ...variant, attributes: { [LONG]: LONG } }] }))
    const { facets } = found()
    const categories = [{ ...facets.categories[0], name: LONG }]
    const attributes = [{ name: LONG, values: [{ value: LONG, count: 1 }] }]
    world.answer = async () => found({ facets: { ...facets, brands: [{ name: LONG, count: 2 }], categories, attributes } })
    await page.goto(`/shop?q=${encodeURIComponent(HOSTILE)}`)
    expect(await page.getByLabel('Search products').inputValue()).toBe(HOSTILE)
    const field = await page.getByLabel('Search products').boundingBox()
    expect((await page.getByRole('button', { name: 'Search' }).boundingBox())!.y).toBeLessThan(field!.y + field!.height)
    const light = await background(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await background(page)).not.toBe(light)
    for (const path of ['/shop', '/shop/products/6', '/shop/products/5']) {
      await page.goto(path)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    }
    expect(await page.textContent('h1')).toContain('<img src=x')
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })
})
