import { parse } from 'tldts'
import { objectCache } from '../../../state/stores/object-cache.ts'
import { UNKNOWN } from './user-agent.ts'

/** The value for clicks without a referrer. */
const DIRECT = 'direct'

/** Mobile apps give their package instead of a host. */
const APP = /^(?:android|ios)-app:\/\/([\w.-]+)/
/** Longer referrers are ignored. Browsers truncate referrers to 4,096 characters. */
const MAX_LENGTH = 4_096
/** The greatest length of a host name (RFC 1035). */
const MAX_HOST_LENGTH = 253
/** Number of cached referrers, about 2 MB. A page with a link is usually the source of several clicks. */
const CACHED_REFERRERS = 10_000

/**
 * Finds the site of a referrer: its registrable host by the public suffix list including private suffixes
 * (ann.github.io and bob.github.io are different sites), the package of a mobile app, or the host itself if nothing
 * is registrable (addresses, local names). Gives `direct` without a referrer, and `unknown` if it contains no host.
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
