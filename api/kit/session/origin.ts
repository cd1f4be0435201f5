/** The parts of a request that show which page made it. */
export interface RequestOrigin {
  header(name: string): string | undefined
  /** The address of the request, with the Host header's name. */
  readonly url: string
}

/**
 * Returns whether a page of another origin made the request. Browsers say so in Sec-Fetch-Site, which scripts cannot
 * change. They leave it out over plain HTTP, except on this machine; then Origin says where the page comes from.
 * Requests with neither come from programs, from older browsers, or are reads.
 * @param publicUrl the address that browsers use, if a proxy forwards their requests under another name
 */
export function isForeignPage({ header, url }: RequestOrigin, publicUrl: string): boolean {
  const site = header('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const origin = header('origin')
  if (origin === undefined) return false
  if (!URL.canParse(origin)) return true
  const { host } = new URL(origin)
  return host !== new URL(url).host && host !== new URL(publicUrl).host
}
