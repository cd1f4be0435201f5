import { clickReader } from '../../pipelines/links/clicks/click-details.ts'
import { countryReader } from '../../pipelines/links/clicks/country.ts'
import { referrerReader } from '../../pipelines/links/clicks/referrer.ts'
import { userAgentReader } from '../../pipelines/links/clicks/user-agent.ts'
import { visitorHasher } from '../../pipelines/links/clicks/visitor.ts'
import { clickStream } from './stream.ts'

const CLICKS = 50_000
const SECRET = 'of the benchmark'

/** Measures the CPU time of each part of processing a click, in µs. */
export function measureParts(userAgents: readonly string[]): [part: string, microseconds: number][] {
  const next = clickStream('zipf', userAgents, 1)
  const now = Date.now()
  const list = Array.from({ length: CLICKS }, () => next(now))
  const distinct = [...new Set(userAgents)]
  // These two readers only warm up the code. The reader that is measured is created afterwards, so its code is already
  // compiled, but its cache is empty.
  for (const read of [userAgentReader(), userAgentReader()]) for (const userAgent of distinct) read(userAgent)
  const readUserAgent = userAgentReader()
  const readReferrer = referrerReader()
  const readCountry = countryReader(undefined)
  const hashVisitor = visitorHasher(SECRET)
  const read = clickReader({ visitorSecret: SECRET, countryDatabase: undefined, keepAddresses: false })
  for (const click of list) read(click, now)
  return [
    ['a user agent seen for the first time', each(distinct, readUserAgent)],
    ['a user agent', each(list, (click) => readUserAgent(click.user_agent))],
    ['a referrer', each(list, (click) => readReferrer(click.referrer))],
    ['a country', each(list, (click) => readCountry(click.country, click.ip))],
    ['a visitor', each(list, (click) => hashVisitor(now, click.ip, click.user_agent))],
    ['everything, per click', each(list, (click) => read(click, now))],
  ]
}

function each<T>(items: readonly T[], work: (item: T) => unknown): number {
  const before = process.cpuUsage()
  for (const item of items) work(item)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / items.length
}
