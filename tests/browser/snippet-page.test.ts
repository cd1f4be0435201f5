import { readFileSync } from 'node:fs'
import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { type RunningServer, startServer } from '../../api/kit/server.ts'
import { threadHighlighter } from '../../api/snippets/page/highlighter.ts'
import { snippetsApi } from '../api/snippets/harness.ts'
import { background, useChromium } from './chromium.ts'

describe('the snippet page in Chromium', () => {
  const highlighter = threadHighlighter()
  const open = useChromium()
  afterAll(() => highlighter.close())

  /** Starts a snippets API with fake servers and the real highlighter, and opens an empty page. */
  async function opened(options: BrowserContextOptions = {}) {
    const api = await snippetsApi({ highlighter })
    const server: RunningServer = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const permissions = ['clipboard-read', 'clipboard-write']
    return { ...(await open(server.url, { permissions, ...options })), create: api.create }
  }

  test("a snippet is highlighted, can be copied and linked by line, and follows the reader's dark mode", async () => {
    const content = 'def f(x):\n\t"""<script>alert(1)</script>\n\n  </code> &amp;"""\n\n    return "é😀"\n\n'
    const { page, complaints, create } = await opened()
    const made = await create({ content, title: '<img src=x onerror=alert(1)>', language: 'python' })
    await page.goto(`/p/${made.body.paste_id}`)
    expect(await page.textContent('h1')).toBe('<img src=x onerror=alert(1)>')
    expect(await page.textContent('#code')).toBe(content)
    expect(await page.locator('.hljs-keyword').first().textContent()).toBe('def')
    await page.click('#copy')
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(content)
    await page.click('#L6 a')
    expect(new URL(page.url()).hash).toBe('#L6')
    const light = await background(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await background(page)).not.toBe(light)
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })

  test('without scripts, the whole snippet is shown, and the page fits a narrow screen', async () => {
    const { page, create } = await opened({ javaScriptEnabled: false, viewport: { width: 360, height: 640 } })
    const content = `let wide = "${'x'.repeat(500)}"\n`
    const made = await create({ content, language: 'rust', title: 'y'.repeat(200) })
    await page.goto(`/p/${made.body.paste_id}`)
    expect(await page.isVisible('#copy')).toBe(false)
    expect(await page.textContent('#code')).toBe(content)
    const box = await page.locator('main').boundingBox()
    expect(box!.width).toBeLessThanOrEqual(360)
    await page.context().close()
  })

  test('a burning snippet is shown after the button is pressed and again after a reload, and then its address returns 404', async () => {
    const { page, complaints, create } = await opened()
    const made = await create({ content: 'for your eyes', burn_after_reads: 1 })
    await page.goto(`/p/${made.body.paste_id}`)
    expect(await page.content()).not.toContain('for your eyes')
    await page.click('#reveal')
    expect(await page.textContent('#code')).toBe('for your eyes')
    // A reload submits the same form again.
    await page.reload()
    expect(await page.textContent('#code')).toBe('for your eyes')
    expect(complaints.join('\n')).toBe('')
    const again = await page.goto(`/p/${made.body.paste_id}`)
    expect(again?.status()).toBe(404)
    await page.context().close()
  })

  test('a burning snippet whose raw address was opened is shown only after the button is pressed', async () => {
    const { page, create } = await opened()
    const made = await create({ content: 'for your eyes', burn_after_reads: 1 })
    await page.goto(`/api/v1/pastes/${made.body.paste_id}/raw`)
    expect(await page.content()).not.toContain('for your eyes')
    await page.click('#reveal')
    expect(await page.textContent('#code')).toBe('for your eyes')
    await page.context().close()
  })

  test('a burning snippet that is too long for the page is saved as a complete file', async () => {
    const { page, create } = await opened()
    const content = `${'a line of a long text\n'.repeat(40_000)}the end`
    const made = await create({ content, burn_after_reads: 1 })
    await page.goto(`/p/${made.body.paste_id}`)
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#reveal')])
    expect(download.suggestedFilename()).toBe(`${made.body.paste_id}.txt`)
    expect(readFileSync(await download.path(), 'utf8')).toBe(content)
    await page.context().close()
  })
})
