import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { matchesApi } from './harness.ts'

const FOLDER = join(import.meta.dirname, '../../../api/matches/page/browser')

test('the Content-Security-Policy of the page allows only its own files and its own server', async () => {
  const { app } = await matchesApi()
  const answer = await app.request('/match')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = answer.headers.get('content-security-policy')?.split('; ')
  expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]))
  expect(policy?.filter((rule) => /unsafe|img-src|https?:/.test(rule))).toEqual([])
  const again = await app.request('/match', { headers: { 'if-none-match': answer.headers.get('etag')! } })
  expect(again.status).toBe(304)
})

test('every file of the folder except the page itself is served under its name, and nothing else is', async () => {
  const { app } = await matchesApi()
  const files = readdirSync(FOLDER).filter((file) => file !== 'page.html')
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) {
    const { status, headers } = await app.request(`/match/${file}`)
    expect([file, status, headers.get('content-type')]).toEqual([
      file,
      200,
      expect.stringMatching(/^text\/(javascript|css); charset=utf-8$/),
    ])
  }
  for (const file of ['page.ts', 'page.html', '..%2Fpage.ts', 'constructor', 'main.js%00']) {
    const { status } = await app.request(`/match/${file}`)
    expect([file, [400, 404].includes(status)]).toEqual([file, true])
  }
})
