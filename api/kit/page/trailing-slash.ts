/**
 * Returns the path and query of the page that a browser requested with a trailing slash; undefined if the URL has no
 * trailing slash or there is no such page.
 * @param isPage returns whether a route answers GET requests for this path
 */
export function withoutTrailingSlash(url: string, isPage: (path: string) => boolean): string | undefined {
  const { pathname, search } = new URL(url)
  if (!pathname.endsWith('/')) return undefined
  const path = pathname.slice(0, -1)
  return isPage(path) ? `${path}${search}` : undefined
}
