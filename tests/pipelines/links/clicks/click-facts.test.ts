import { describe, expect, test } from 'vitest'
import { countryReader } from '../../../../pipelines/links/clicks/country.ts'
import { referrerReader } from '../../../../pipelines/links/clicks/referrer.ts'
import { userAgentReader } from '../../../../pipelines/links/clicks/user-agent.ts'
import { visitorHasher } from '../../../../pipelines/links/clicks/visitor.ts'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const NOON = Date.UTC(2026, 10, 21, 12)
const HOUR = 3_600_000

describe('user agents', () => {
  const read = userAgentReader()
  test.each([
    [CHROME, { bot: false, browser: 'Chrome', device: 'desktop' }],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.6 Mobile/15E148 Safari/604.1',
      { bot: false, browser: 'Safari', device: 'mobile' },
    ],
    [
      'Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1',
      { bot: false, browser: 'Safari', device: 'tablet' },
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
      { bot: false, browser: 'Firefox', device: 'desktop' },
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 jp.co.yahoo.ipn.appli/4.70.0.3',
      { bot: false, browser: 'Safari', device: 'mobile' },
    ],
    [
      'Mozilla/5.0 (Linux; Android 14; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.0.0 Mobile Safari/537.36 YahooMobileMail/7.0',
      { bot: false, browser: 'Chrome', device: 'mobile' },
    ],
    ['', { bot: false, browser: 'unknown', device: 'unknown' }],
  ])('the user agent %j has the right browser and device, and is not a bot', (userAgent, facts) => {
    expect(read(userAgent)).toEqual(facts)
    expect(read(userAgent)).toEqual(facts)
  })

  test.each([
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'WhatsApp/2.23.20.0 A',
    'Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)',
    'TelegramBot (like TwitterBot)',
    'Twitterbot/1.0',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
    'curl/8.5.0',
    'python-requests/2.31.0',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/117.0.0.0 Safari/537.36 GTmetrix',
  ])('%s is a bot', (userAgent) => {
    expect(read(userAgent)).toMatchObject({ bot: true, device: 'bot' })
  })

  test('user agents may contain a million characters, control characters and lone surrogates, and browser names have at most 40 characters', () => {
    expect(read(`${CHROME} ${'a'.repeat(1_000_000)}`)).toMatchObject({ browser: 'Chrome' })
    expect(read('\u0000\ud800 💥').browser).toBe('unknown')
    expect(read(`${'x'.repeat(200)}/1.0`).browser.length).toBeLessThanOrEqual(40)
  })
})

describe('referrers', () => {
  const read = referrerReader()
  test.each([
    ['', 'direct'],
    ['https://www.google.com/search?q=x', 'google.com'],
    ['https://News.BBC.co.uk/a/b', 'bbc.co.uk'],
    ['https://ann.github.io/post', 'ann.github.io'],
    ['https://github.io/', 'github.io'],
    ['t.co', 't.co'],
    ['http://localhost:3000/', 'localhost'],
    ['http://192.168.1.7/admin', '192.168.1.7'],
    ['http://[2001:db8::1]/', '2001:db8::1'],
    ['android-app://com.google.android.gm/', 'com.google.android.gm'],
    ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example'],
    ['about:blank', 'unknown'],
    ['https://', 'unknown'],
    [`https://${'a'.repeat(5_000)}.com`, 'unknown'],
  ])('the referrer %s counts as %s', (referrer, site) => {
    expect(read(referrer)).toBe(site)
  })
})

describe('countries', () => {
  const read = countryReader(undefined)
  test.each([
    ['', '8.8.8.8', 'US'],
    ['', '::ffff:8.8.8.8', 'US'],
    ['', '2001:4860:4860::8888', 'US'],
    ['', '193.0.6.139', 'NL'],
    ['', '127.0.0.1', 'unknown'],
    ['', '10.1.2.3', 'unknown'],
    ['', '', 'unknown'],
    ['', 'nonsense', 'unknown'],
    ['de', '8.8.8.8', 'DE'],
    ['uk', '', 'GB'],
    ['EL', '', 'GR'],
    ['XX', '8.8.8.8', 'unknown'],
    ['T1', '', 'unknown'],
    ['Germany', '', 'unknown'],
  ])('header %j and address %j give the country %s', (given, ip, country) => {
    expect(read(given, ip)).toBe(country)
  })

  test('a missing or invalid country database is refused with a message that names the setting', () => {
    expect(() => countryReader('/nowhere/countries.mmdb')).toThrow('GEOIP_DATABASE')
    expect(() => countryReader(import.meta.filename)).toThrow('GEOIP_DATABASE')
  })
})

describe('visitors', () => {
  const hashOf = visitorHasher('a secret')

  test('the same address and browser count as one visitor all day, and as a different one the next day', () => {
    const first = hashOf(NOON, '192.0.2.1', CHROME)
    expect(first).toMatch(/^[0-9a-f]{16}$/)
    expect(hashOf(NOON + 11 * HOUR, '192.0.2.1', CHROME)).toBe(first)
    expect(hashOf(NOON + 12 * HOUR, '192.0.2.1', CHROME)).not.toBe(first)
    expect(hashOf(NOON, '192.0.2.2', CHROME)).not.toBe(first)
    expect(hashOf(NOON, '192.0.2.1', 'Firefox')).not.toBe(first)
  })

  test('workers compute the same hash for a visitor only if they have the same secret', () => {
    expect(visitorHasher('a secret')(NOON, '::1', '')).toBe(hashOf(NOON, '::1', ''))
    expect(visitorHasher('another secret')(NOON, '::1', '')).not.toBe(hashOf(NOON, '::1', ''))
  })

  test('a visitor has the same hash on a day even after clicks from more days than the hasher keeps in memory', () => {
    const days = Array.from({ length: 20 }, (_, day) => hashOf(NOON + day * 24 * HOUR, '::1', ''))
    expect(new Set(days).size).toBe(20)
    expect(hashOf(NOON, '::1', '')).toBe(days[0])
  })
})
