/** One short domain. */
export interface ShortDomain {
  /** The domain as in a Host header: in lower case, with the port unless it is the default. */
  readonly host: string
  /** Prefix of the short URLs of the domain, without the trailing slash. */
  readonly base: string
}

export interface ShortDomains {
  readonly first: ShortDomain
  readonly all: readonly ShortDomain[]
  byHost(host: string): ShortDomain | undefined
  /** Returns whether a URL points to one of the short domains. */
  leadsBack(url: URL): boolean
}

/** @param bases `https://sho.rt`, at least one */
export function shortDomains(bases: readonly string[]): ShortDomains {
  const urls = bases.map((base) => new URL(base))
  const domains = urls.map(({ host, origin }) => ({ host, base: origin }))
  const byHost = new Map(domains.map((domain) => [domain.host, domain]))
  return {
    first: domains[0],
    all: domains,
    byHost: (host) => byHost.get(host.toLowerCase()),
    leadsBack(url) {
      const name = withoutRootDot(url.hostname)
      // A short domain without a port matches all ports, because any server with that name may belong to the domain.
      return urls.some(({ hostname, port }) => hostname === name && (port === '' || port === url.port))
    },
  }
}

/** Removes the final dot of `example.com.`. */
export function withoutRootDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}
