import type { Click } from '../../schemas/links/types.ts'
import { integer, pick, type Random, seededRandom } from '../../tools/random/random.ts'
import { weightedPick, zipfWeights } from '../../tools/random/weighted.ts'

/** Distributions of clicks over links. */
export const SPREADS = ['uniform', 'zipf', 'one'] as const
export type Spread = (typeof SPREADS)[number]

const LINKS = 100_000
/**
 * Zipf exponent of the popularity of links and referrers: the k-th most popular one has the weight 1 / k^1.1. The
 * popularity of web pages has a similar exponent.
 */
const ZIPF_EXPONENT = 1.1
const REFERRERS = 2_000
/** Share of clicks without a referrer. In real traffic, it is also about half. */
const DIRECT_SHARE = 0.5
const VISITORS = 200_000
const CODE_DIGITS = 7

/** Generates clicks with real user agents. Equal seeds produce equal clicks. */
export function clickStream(spread: Spread, userAgents: readonly string[], seed: number): (now: number) => Click {
  const random = seededRandom(seed)
  const linkOf = linkPick(spread, random)
  const referrerPick = weightedPick(zipfWeights(REFERRERS, ZIPF_EXPONENT))
  const visitors = Array.from({ length: VISITORS }, () => address(random))

  return function nextClick(now) {
    return {
      short_code: codeOf(linkOf()),
      timestamp: new Date(now).toISOString(),
      ip: pick(random, visitors),
      user_agent: pick(random, userAgents),
      referrer: random() < DIRECT_SHARE ? '' : `https://site-${referrerPick(random)}.example.com/page?q=1`,
      country: '',
    }
  }
}

function linkPick(spread: Spread, random: Random): () => number {
  if (spread === 'one') return () => 0
  if (spread === 'uniform') return () => integer(random, LINKS)
  const draw = weightedPick(zipfWeights(LINKS, ZIPF_EXPONENT))
  return () => draw(random)
}

export function codeOf(link: number): string {
  return link.toString(36).padStart(CODE_DIGITS, '0')
}

function address(random: Random): string {
  return `${1 + integer(random, 223)}.${integer(random, 256)}.${integer(random, 256)}.${integer(random, 256)}`
}
