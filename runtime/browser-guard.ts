import type { IncomingHttpHeaders } from 'node:http'

/** Names by which programs on this machine reach a local server. */
const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])
/** The value of Sec-Fetch-Site for an address that a person typed or opened from a bookmark. */
const OPENED_BY_USER = 'none'

export interface BrowserGuardOptions {
  /** Further host names of this server, without ports. */
  readonly names?: readonly string[]
  /**
   * Whether people may open the server's addresses in a browser. Set it only for servers whose requests change nothing.
   */
  readonly mayBeOpened?: boolean
}

/**
 * Returns the reason why a local server refuses a request that a web page may have caused; undefined for other
 * requests.
 *
 * The local servers listen on loopback only, but any page that is open in a browser on this machine can send requests
 * to them. Browsers add Origin or Sec-Fetch-Site to such requests. Other clients usually send neither. The host is
 * checked because of DNS rebinding: a page whose name was rebound to 127.0.0.1 has the same origin as the server, but
 * the browser still sends the page's host.
 */
export function browserRefusal(
  headers: Pick<IncomingHttpHeaders, 'origin' | 'sec-fetch-site' | 'host'>,
  { names = [], mayBeOpened = false }: BrowserGuardOptions = {},
): string | undefined {
  if (headers.origin !== undefined) return 'Requests with an Origin header are refused, because web pages must not use this server'
  const site = headers['sec-fetch-site']
  if (site !== undefined && !(mayBeOpened && site === OPENED_BY_USER)) {
    return 'Requests with this value of Sec-Fetch-Site are refused, because web pages must not use this server'
  }
  // Only HTTP/1.0 clients omit the Host header, and browsers do not use HTTP/1.0.
  if (headers.host === undefined) return undefined
  const name = hostName(headers.host)
  if (LOCAL_NAMES.has(name) || names.some((own) => own.toLowerCase() === name)) return undefined
  return 'The Host header is not a name of this server: use localhost or 127.0.0.1'
}

function hostName(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}
