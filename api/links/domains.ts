/** One short domain. */
export interface ShortDomain {
  /** As in the Host header: lower case, with the port where it is not the usual one. */
  readonly host: string
  /** What its links begin with, without the last slash. */
  readonly base: string
}

export interface ShortDomains {
  readonly first: ShortDomain
  readonly all: readonly ShortDomain[]
  byHost(host: string): ShortDomain | undefined
  /** True when a URL leads back to one of them. */
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
      // Where no port is named, whatever answers there under that name may be ours.
      return urls.some(({ hostname, port }) => hostname === name && (port === '' || port === url.port))
    },
  }
}

/** `example.com.` is `example.com`. */
export function withoutRootDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}
