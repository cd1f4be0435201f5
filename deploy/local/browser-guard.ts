import type { IncomingHttpHeaders } from 'node:http'

/** Names by which programs on this machine reach a local server. */
const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Returns why a local server refuses a request that a web page may have caused; undefined for other requests. The local
 * servers listen on loopback only, but any page that is open in a browser on this machine can send requests there.
 * Browsers add Origin or Sec-Fetch-Site to such requests, and no other client does. The host is checked because of DNS
 * rebinding: a page whose name was rebound to 127.0.0.1 has the same origin as the server, but the browser still sends
 * the page's host.
 */
export function browserRefusal(headers: Pick<IncomingHttpHeaders, 'origin' | 'sec-fetch-site' | 'host'>): string | undefined {
  if (headers.origin !== undefined) return 'Requests with an Origin header are refused, because web pages must not use this server'
  if (headers['sec-fetch-site'] !== undefined) {
    return 'Requests with a Sec-Fetch-Site header are refused, because web pages must not use this server'
  }
  // Only HTTP/1.0 clients send no host, and no browser is one.
  if (headers.host === undefined || LOCAL_NAMES.has(hostName(headers.host))) return undefined
  return 'The Host header does not name this machine: use localhost or 127.0.0.1'
}

function hostName(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}
