/** Reads a request header by its name in lower case. */
type HeaderReader = (name: string) => string | undefined

/** The standard header for prefetches, and the headers of older browsers. */
const PURPOSE_HEADERS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const PREFETCH = /prefetch|prerender|preview/i
/**
 * Matches crawlers, and programs that open links in messages to preview them. `bot` at the end of a word covers most of
 * these programs, but must not match Cubot, a brand of phones. HTTP libraries do not match, because people read content
 * with them.
 */
const ROBOTS =
  /(?<!cu)bot\b|^whatsapp\/|facebookexternalhit|facebookcatalog|facebot|skypeuripreview|vkshare|iframely|embedly|cardyb|crawler|spider|link ?preview|url ?preview|bingpreview|microsoftpreview|kakaotalk-scrap|mastodon\/|mattermost|rocket\.chat|synapse|slack-imgproxy|developers\.google\.com\/\+\/web\//i
/**
 * Number of characters of a user agent that are examined. Without a limit, a long user agent could make matching slow.
 */
const MAX_USER_AGENT_CHARACTERS = 1_024

/** Returns whether a header states that a browser loads the URL before the user has asked for it. */
export function isPrefetchPurpose(purpose: string | readonly string[] | undefined): boolean {
  return typeof purpose === 'string' && PREFETCH.test(purpose)
}

/**
 * Returns whether the request is a prefetch or comes from a robot. A person may never see the answer to such a request.
 */
export function isSpeculative(header: HeaderReader): boolean {
  if (PURPOSE_HEADERS.some((name) => isPrefetchPurpose(header(name)))) return true
  return ROBOTS.test((header('user-agent') ?? '').slice(0, MAX_USER_AGENT_CHARACTERS))
}

/**
 * Returns whether a browser opens the URL as a page. Returns false if a script or another program fetches the URL. If
 * there is no Sec-Fetch-Mode, every client that accepts HTML counts as a browser that opens a page.
 */
export function isNavigation(header: HeaderReader): boolean {
  const mode = header('sec-fetch-mode')
  return mode === undefined ? (header('accept') ?? '').toLowerCase().includes('text/html') : mode === 'navigate'
}
