import { parse } from 'tldts'
import { objectCache } from '../../../state/stores/object-cache.ts'
import { UNKNOWN } from './user-agent.ts'

/** Of clicks without a referrer. */
const DIRECT = 'direct'

/** Android apps name themselves by their package instead of a host. */
const APP = /^(?:android|ios)-app:\/\/([\w.-]+)/
/** Longer ones are not looked at: browsers cut referrers at 4,096. */
const MAX_LENGTH = 4_096
/** A host's longest form (RFC 1035). */
const MAX_HOST_LENGTH = 253
/** About 2 MB. A page that links is clicked again. */
const CACHED_REFERRERS = 10_000

/**
 * Which site a referrer belongs to: its registrable host by the public suffix list, private suffixes included (ann.github.io is another site
 * than bob.github.io), the package of an Android app, the host itself where nothing is registrable (addresses, local names).
 * `direct` without a referrer, `unknown` where there is no host in it.
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
