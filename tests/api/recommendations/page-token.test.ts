import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { pageTokens } from '../../../api/recommendations/serve/page-token.ts'

test('a token that another release has signed in a different format is refused', () => {
  const secret = 'a secret for tests of pages'
  const text = Buffer.from(JSON.stringify({ u: '42', e: 1, items: [] })).toString('base64url')
  const signature = createHmac('sha256', secret).update(`page:${text}`).digest('base64url')
  const tokens = pageTokens(secret, () => 0)
  expect(() => tokens.read(`${text}.${signature}`, 42n)).toThrow(
    expect.objectContaining({ definition: expect.objectContaining({ code: 'invalid_page_token' }) }),
  )
})
