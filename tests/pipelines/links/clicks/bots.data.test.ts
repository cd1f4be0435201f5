import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { confusionMatrix, type RecordedBrowser, readUserAgents } from '../../../../bench/clicks/bots.ts'
import { userAgentReader } from '../../../../pipelines/links/clicks/user-agent.ts'
import { dataTest } from '../../../public-data.ts'

dataTest('userAgents', 'the parser recognises nearly all recorded crawlers as bots, and mistakes no browser for a bot', (folder) => {
  const userAgents = readUserAgents(folder, readFileSync)
  const matrix = confusionMatrix(userAgents)
  expect(userAgents.crawlers.length).toBeGreaterThan(2_000)
  expect(matrix.caught / userAgents.crawlers.length).toBeGreaterThan(0.995)
  expect(matrix.wronglyCaught).toBe(0)
})

dataTest('userAgents', 'the parser finds a name for over 99 % of the recorded browsers, and the right device for over 99.5 %', (folder) => {
  const { browsers } = readUserAgents(folder, readFileSync)
  const read = userAgentReader()
  const facts = browsers.map(({ userAgent, deviceCategory }) => ({ ...read(userAgent), deviceCategory }))
  expect(facts.filter(({ browser }) => browser === 'unknown').length / browsers.length).toBeLessThan(0.01)
  expect(facts.filter(({ device, deviceCategory }) => device === deviceCategory).length / browsers.length).toBeGreaterThan(0.995)
})

/** Every second browser version from 80, which is years old, to 198, which does not exist yet. */
const VERSIONS = Array.from({ length: 60 }, (_, index) => 80 + 2 * index)
const KIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const SYSTEMS = [
  ['Windows NT 10.0; Win64; x64', '', 'desktop'],
  ['Macintosh; Intel Mac OS X 10_15_7', '', 'desktop'],
  ['X11; Linux x86_64', '', 'desktop'],
  ['X11; CrOS x86_64 14541.0.0', '', 'desktop'],
  ['Linux; Android 10; K', ' Mobile', 'mobile'],
] as const
const CRAWLERS = [
  'Googlebot',
  'bingbot',
  'YandexBot',
  'DuckDuckBot',
  'AhrefsBot',
  'PetalBot',
  'Applebot',
  'SemrushBot',
  'GPTBot',
  'redditbot',
]
const PROGRAMS = ['curl', 'Wget', 'python-requests', 'Go-http-client', 'okhttp', 'Apache-HttpClient', 'node-fetch', 'PostmanRuntime']

/** Generates user agents of browsers and crawlers in many versions, in the forms that occur in the public lists. */
function generatedUserAgents() {
  const browsers: RecordedBrowser[] = []
  const crawlers: string[] = []
  for (const version of VERSIONS) {
    for (const [system, mobile, deviceCategory] of SYSTEMS) {
      const chrome = `Mozilla/5.0 (${system}) ${KIT} Chrome/${version}.0.0.0${mobile} Safari/537.36`
      for (const userAgent of [chrome, `${chrome} Edg/${version}.0.0.0`, `${chrome} OPR/${version}.0.0.0`])
        browsers.push({ userAgent, deviceCategory })
      crawlers.push(chrome.replace('Chrome/', 'HeadlessChrome/'))
    }
    const firefox = `Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`
    browsers.push({ userAgent: firefox, deviceCategory: 'desktop' })
    for (const name of CRAWLERS) crawlers.push(`Mozilla/5.0 (compatible; ${name}/${version}.0; +https://example.com/bot)`)
    for (const name of PROGRAMS) crawlers.push(`${name}/${version}.1`)
  }
  return { browsers, crawlers }
}

test('the parser recognises all generated crawlers as bots, and finds a name and the right device for each generated browser', () => {
  const userAgents = generatedUserAgents()
  expect(confusionMatrix(userAgents)).toMatchObject({ caught: userAgents.crawlers.length, missed: [], wronglyCaught: 0 })
  const read = userAgentReader()
  const facts = userAgents.browsers.map(({ userAgent }) => read(userAgent))
  expect(facts.filter(({ browser }) => browser === 'unknown')).toEqual([])
  expect(facts.map(({ device }) => device)).toEqual(userAgents.browsers.map(({ deviceCategory }) => deviceCategory))
})
