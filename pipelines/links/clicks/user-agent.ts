import bowser from 'bowser'
import { createIsbotFromList, list } from 'isbot'
import { objectCache } from '../../../state/stores/object-cache.ts'

export interface UserAgentFacts {
  readonly bot: boolean
  /** Browser family, such as `Chrome` or `Safari`, or `unknown`. */
  readonly browser: string
  /** One of `desktop`, `mobile`, `tablet`, `tv`, `bot` or `unknown`. */
  readonly device: string
}

export const UNKNOWN = 'unknown'

/**
 * Link previews and page testers that isbot's list misses, because their user agents differ from a browser's in only
 * one word.
 */
const MORE_BOTS = ['GTmetrix', 'Miniature\\.io', '\\bYLT\\b', 'Iframely', 'Embedly', 'vkShare', 'redditbot', 'SkypeUriPreview']
/**
 * Maximum length of a user agent. Longer user agents are truncated, so that a sender cannot make matching slow. In-app
 * browsers reach 400 characters.
 */
const MAX_LENGTH = 1_024
/**
 * Number of cached user agents. They take about 3 MB. Caching helps because traffic is repetitive: 10,000 visits by
 * browsers had 952 distinct user agents.
 */
const CACHED_USER_AGENTS = 10_000
const MAX_NAME_LENGTH = 40
const DEVICES = new Set(['desktop', 'mobile', 'tablet', 'tv'])
/**
 * bowser classifies every user agent with this word as a crawler. However, the word also occurs in the user agents of
 * Yahoo's apps.
 */
const YAHOO = /yahoo/gi
const OTHER_WORD = 'app'
const NO_USER_AGENT: UserAgentFacts = { bot: false, browser: UNKNOWN, device: UNKNOWN }

/**
 * Returns whether a user agent belongs to a bot, such as a crawler, a link preview, an HTTP library or a headless
 * browser.
 */
export const isBot = createIsbotFromList([...list, ...MORE_BOTS])

/** Creates a function that parses user agents and caches the results. */
export function userAgentReader(): (userAgent: string) => UserAgentFacts {
  const known = objectCache<string, UserAgentFacts>(CACHED_USER_AGENTS, () => {})

  return function readUserAgent(userAgent) {
    if (userAgent === '') return NO_USER_AGENT
    const text = userAgent.length > MAX_LENGTH ? userAgent.slice(0, MAX_LENGTH) : userAgent
    const found = known.get(text)
    if (found !== undefined) return found
    const facts = factsOf(text)
    known.set(text, facts)
    return facts
  }
}

function factsOf(userAgent: string): UserAgentFacts {
  const bot = isBot(userAgent)
  const { browser, os, platform } = bowser.parse(bot ? userAgent : userAgent.replace(YAHOO, OTHER_WORD))
  // The cut may split a surrogate pair, and half a pair cannot be encoded.
  const name = (browser.name ?? UNKNOWN).slice(0, MAX_NAME_LENGTH).toWellFormed()
  return { bot, browser: name || UNKNOWN, device: deviceOf(bot, platform.type, os.name) }
}

function deviceOf(bot: boolean, type: string | undefined, system: string | undefined): string {
  if (bot) return 'bot'
  if (type !== undefined && DEVICES.has(type)) return type
  // For Chrome OS, bowser reports no device type.
  return system === 'Chrome OS' ? 'desktop' : UNKNOWN
}
