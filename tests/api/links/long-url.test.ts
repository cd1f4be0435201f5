import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../api/kit/errors.ts'
import { shortDomains } from '../../../api/links/domains.ts'
import { checkedUrl } from '../../../api/links/long-url.ts'

interface Vectors {
  /**
   * Pairs of an input and the URL to which the web platform's parser converts it, or null if the parser rejects the
   * input.
   */
  readonly urls: readonly (readonly [string, string | null])[]
  /** Pairs of a host and its ASCII form, or null if the host has none. */
  readonly hosts: readonly (readonly [string, string | null])[]
}

const vectors = JSON.parse(readFileSync(new URL('url-vectors.json', import.meta.url), 'utf8')) as Vectors
const domains = shortDomains(['http://sho.rt', 'https://go.example:8443', 'http://127.0.0.1:8090'])

function check(given: unknown): string | 'refused' {
  try {
    return checkedUrl(given, domains, 'body.long_url')
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).definition.code).toBe('invalid_url')
    return 'refused'
  }
}

/**
 * Matches parsed URLs that may be stored: with an allowed scheme, without a user name, and with a host that contains a
 * dot or is in brackets.
 */
const ALLOWED = /^https?:\/\/(?:\[[0-9a-f:.]+\]|[^/?#@.]+(?:\.[^/?#@.]+)+\.?)(?::\d+)?(?:[/?#]|$)/

describe('the check of a long URL agrees with the web platform test vectors', () => {
  test.each(vectors.urls)('URL %j', (input, href) => {
    const isAllowed = href !== null && ALLOWED.test(href) && href.length <= 2_048
    expect(check(input)).toBe(isAllowed ? href : 'refused')
  })

  test.each(vectors.hosts)('host %j', (host, ascii) => {
    const labels = ascii?.replace(/\.$/, '').split('.') ?? []
    const isAllowed = labels.length > 1 && !labels.includes('')
    expect(check(`https://${host}/x`)).toBe(isAllowed ? `https://${ascii}/x` : 'refused')
  })
})

test.each([
  'http://sho.rt/abc',
  'HTTPS://SHO.RT./abc',
  'http://sho.rt:8080/',
  'https://go.example:8443/',
  'http://127.0.0.1:8090/x',
  'http://0x7f.1:8090/x',
])('%s points to a short domain and is refused', (url) => {
  expect(check(url)).toBe('refused')
})

test.each(['https://go.example/', 'http://127.0.0.1:8091/x', 'http://notsho.rt/', 'http://[::1]/', 'http://192.0.2.1/'])(
  '%s does not point to a short domain and is accepted',
  (url) => {
    expect(check(url)).toBe(url)
  },
)

test('a URL may have up to 2,048 characters, as given and as stored', () => {
  const longest = `https://example.com/${'a'.repeat(2_028)}`
  expect(check(longest)).toBe(longest)
  expect(check(`${longest}a`)).toBe('refused')
  expect(check(longest.slice(0, -1).replace('/a', '/{'))).toBe('refused')
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'ftp://example.com/',
  '//example.com/',
  'example.com',
  '',
  'http://localhost/',
  'http://localhost./',
  'http://../',
  'http://a..b/',
  'http://me@example.com/',
  'http://:secret@example.com/',
  `https://example.com/${'a'.repeat(2_030)}`,
  `https://example.com/${'é'.repeat(400)}`,
  `https://example.com/${'./'.repeat(1_015)}`,
])('%j is refused', (url) => {
  expect(check(url)).toBe('refused')
})

test('an accepted URL is ASCII without line breaks, is accepted again unchanged, and has the scheme http or https', () => {
  const urls = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc
      .tuple(fc.constantFrom('http://', 'https:', ' HTTP:\\\\'), fc.domain(), fc.string({ unit: 'grapheme' }))
      .map((parts) => parts.join('')),
    fc.string({ unit: 'binary' }),
    fc.anything(),
  )
  fc.assert(
    fc.property(urls, (given) => {
      const stored = check(given)
      if (stored === 'refused') return
      expect(stored).toMatch(/^https?:\/\/[!-~]+$/)
      expect(check(stored)).toBe(stored)
    }),
  )
})
