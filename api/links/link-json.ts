import type { LinkFields } from '../../schemas/links/flow.ts'
import type { LinkRecord } from '../../state/views/links/links.ts'
import type { ShortDomains } from './domains.ts'

/** Converts a link to the JSON that the API returns. */
export function linkJson(code: string, link: LinkRecord, domains: ShortDomains, now: number) {
  const { longUrl, domain, createdAt, expiresAt, expiredUrl, isActive, analytics } = link
  return {
    short_url: shortUrl(code, domain, domains),
    short_code: code,
    long_url: longUrl,
    created_at: new Date(createdAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    domain,
    is_active: isActive && !isExpired(link, now),
    analytics,
    expired_url: expiredUrl ?? null,
  }
}

/** Returns the short URL of a link. If the domain of the link is no longer configured, the URL has the scheme http. */
export function shortUrl(code: string, domain: string, domains: ShortDomains): string {
  return `${domains.byHost(domain)?.base ?? `http://${domain}`}/${code}`
}

/** Returns whether a link has expired. The clock decides, because the pipeline marks expired links with a delay. */
export function isExpired({ expiresAt }: Pick<LinkRecord, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

export function recordOf(fields: LinkFields, userId: string | undefined): LinkRecord {
  return {
    longUrl: fields.long_url,
    domain: fields.domain,
    createdAt: fields.created_at,
    expiresAt: fields.expires_at ?? undefined,
    expiredUrl: fields.expired_url ?? undefined,
    userId,
    isActive: fields.is_active,
    analytics: fields.analytics,
  }
}
