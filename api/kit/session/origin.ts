/** The parts of a request that show which page made the request. */
export interface RequestOrigin {
  header(name: string): string | undefined
  /** The URL of the request, with the host from the Host header. */
  readonly url: string
}

/**
 * Returns whether a page of another origin made the request. Browsers state this in Sec-Fetch-Site, which scripts
 * cannot change. Over plain HTTP, browsers send Sec-Fetch-Site only to the same machine, so Origin shows the origin of
 * the page instead. Requests with neither header come from programs or older browsers, or they only read data.
 * @param publicUrl the URL that browsers use. The host of this URL may differ from the host in `url` if a proxy
 * forwards the requests.
 */
export function isForeignPage({ header, url }: RequestOrigin, publicUrl: string): boolean {
  const site = header('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const origin = header('origin')
  if (origin === undefined) return false
  if (!URL.canParse(origin)) return true
  const { host } = new URL(origin)
  // A program may send an invalid Host header, such as `1.2.3.4.5`. The URL is then invalid as well, and `URL.parse`
  // returns null.
  return host !== URL.parse(url)?.host && host !== new URL(publicUrl).host
}

/**
 * Returns whether the browser states that a page of this server made the request. If the browser states nothing, this
 * function and `isForeignPage` both return false.
 */
export function isOwnPage(request: RequestOrigin, publicUrl: string): boolean {
  const site = request.header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  return request.header('origin') !== undefined && !isForeignPage(request, publicUrl)
}
