import { parse } from 'tldts'
import { objectCache } from '../../../state/stores/object-cache.ts'
import { UNKNOWN } from './user-agent.ts'

/** The value for clicks without a referrer. */
const DIRECT = 'direct'

/** Form of a referrer from a mobile app. It names the app's package instead of a host. */
const APP = /^(?:android|ios)-app:\/\/([\w.-]+)/
/** Maximum length of a referrer; longer ones count as `unknown`. Browsers truncate referrers to 4,096 characters. */
const MAX_LENGTH = 4_096
/** Maximum length of a host name (RFC 1035). */
const MAX_HOST_LENGTH = 253
/**
 * Number of cached referrers. They take about 2 MB. Caching helps because a page with a link is usually the source of
 * several clicks.
 */
const CACHED_REFERRERS = 10_000

/**
 * Creates a function that finds the site of a referrer. The site is the registrable domain according to the public
 * suffix list, including private suffixes, so ann.github.io and bob.github.io are different sites. For a mobile app,
 * the site is the package. If the host has no registrable domain (IP addresses, local names), the site is the host
 * itself. The function returns `direct` if there is no referrer, and `unknown` if the referrer is too long or contains
 * no host.
 */
export function referrerReader(): (referrer: string) => string {
  const known = objectCache<string, string>(CACHED_REFERRERS, () => {})

  return function readReferrer(referrer) {
    if (referrer === '') return DIRECT
    if (referrer.length > MAX_LENGTH) return UNKNOWN
    const found = known.get(referrer)
    if (found !== undefined) return found
    const site = siteOf(referrer)
    known.set(referrer, site)
    return site
  }
}

function siteOf(referrer: string): string {
  const app = APP.exec(referrer)
  if (app !== null) return app[1].slice(0, MAX_HOST_LENGTH)
  const { domain, hostname } = parse(referrer.trim(), { allowPrivateDomains: true })
  return domain ?? (hostname || UNKNOWN)
}
