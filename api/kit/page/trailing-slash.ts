/**
 * Returns the path and query of a URL without the trailing slash of its path; undefined if the path has no trailing
 * slash, or if no page has the shorter path.
 * @param isPage returns whether a route answers GET requests for this path
 */
export function withoutTrailingSlash(url: string, isPage: (path: string) => boolean): string | undefined {
  const { pathname, search } = new URL(url)
  if (!pathname.endsWith('/')) return undefined
  const path = pathname.slice(0, -1)
  return isPage(path) ? `${path}${search}` : undefined
}
