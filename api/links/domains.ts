export interface ShortDomain {
  /** The domain as in a Host header: in lower case, with the port unless it is the default. */
  readonly host: string
  /** Prefix of the short URLs of the domain, without the trailing slash. */
  readonly base: string
}

export interface ShortDomains {
  readonly first: ShortDomain
  readonly all: readonly ShortDomain[]
  /** @param host a Host header in any form: in upper case, with the default port, or with a trailing dot */
  byHost(host: string): ShortDomain | undefined
  /** Returns whether a URL points to one of the short domains. */
  leadsBack(url: URL): boolean
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': ':80', 'https:': ':443' }
/** Matches the trailing dot of the host name in `example.com.` and `example.com.:8080`. */
const ROOT_DOT = /\.(?=$|:)/

/** @param bases base URLs such as `https://sho.rt`, at least one */
export function shortDomains(bases: readonly string[]): ShortDomains {
  const urls = bases.map((base) => new URL(base))
  const domains = urls.map(({ host, origin }) => ({ host, base: origin }))
  const withDefaultPort = urls.flatMap(({ host, port, protocol }, index): [string, ShortDomain][] =>
    port === '' ? [[host + DEFAULT_PORTS[protocol], domains[index]]] : [],
  )
  const byHost = new Map([...withDefaultPort, ...domains.map((domain): [string, ShortDomain] => [domain.host, domain])])
  return {
    first: domains[0],
    all: domains,
    byHost: (host) => byHost.get(host) ?? byHost.get(host.toLowerCase().replace(ROOT_DOT, '')),
    leadsBack(url) {
      const name = withoutRootDot(url.hostname)
      // A short domain without a port matches all ports, because any server with that name may belong to the domain.
      return urls.some(({ hostname, port }) => hostname === name && (port === '' || port === url.port))
    },
  }
}

/** Removes the trailing dot of a host name such as `example.com.`. */
export function withoutRootDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}
