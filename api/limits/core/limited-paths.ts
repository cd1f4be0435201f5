import type { LimitedRoute } from '../../kit/rate-limits.ts'
import { type EndpointPattern, matchesPath, parsePattern, sharesPaths } from './endpoint-pattern.ts'

/** The paths that the services of this process declare as limited. */
export interface LimitedPaths {
  /** Returns whether requests to this path are limited. */
  covers(path: string): boolean
  /** Returns whether a rule with this endpoint pattern can apply to any limited path. */
  canApply(endpointPattern: string): boolean
  addRoute(route: LimitedRoute): void
  /**
   * Suggests patterns for a rule that names the exact path of an endpoint but can apply to no request. This is the case
   * if rate limits compare rules with a different path: a path with values instead of parameters, or the `countsAs` of
   * the route. Returns an empty list for all other rules.
   */
  patternsInstead(endpointPattern: string): string[]
}

/**
 * Creates the set of limited paths.
 * @param declared patterns as in rules, but without methods: `/api/v1/*`, `/exact/path`
 * @throws Error that names an invalid pattern
 */
export function limitedPaths(declared: Iterable<string>): LimitedPaths {
  const patterns = [...new Set(declared)].map((text) => {
    const pattern = parsePattern(text)
    if (pattern === undefined || pattern.method !== undefined) throw new Error(`${text} must be a path pattern without a method`)
    return pattern
  })

  const routes: LimitedRoute[] = []

  function canApply(endpointPattern: string): boolean {
    const rule = parsePattern(endpointPattern)
    return rule !== undefined && patterns.some((pattern) => sharesPaths(pattern, rule))
  }

  return {
    addRoute: (route) => void routes.push(route),
    patternsInstead(endpointPattern) {
      const rule = parsePattern(endpointPattern)
      if (rule?.kind !== 'exact') return []
      const { method, path: named } = rule
      const possible = routes.filter((route) => method === undefined || route.method === method)
      if (possible.some((route) => appliesTo(rule, route))) return []
      const same = possible.filter(({ path }) => path === named)
      const meant = same.length > 0 ? same : possible.filter(({ path }) => fits(named, path))
      const paths = new Set(meant.map(({ path, countsAs }) => countsAs ?? `${path.slice(0, path.indexOf('{'))}*`))
      return Array.from(paths, (path) => (method === undefined ? path : `${method} ${path}`)).filter(canApply)
    },
    covers: (path) => patterns.some((pattern) => matchesPath(pattern, path)),
    canApply,
  }
}

/** Returns whether a rule for an exact path can apply to requests to a route. The methods are not compared. */
function appliesTo({ path: named }: EndpointPattern, { path, countsAs }: LimitedRoute): boolean {
  if (countsAs !== undefined) return countsAs === named
  // No request has the literal path of a route with parameters, such as `/items/{id}`.
  return path.includes('{') ? path !== named && fits(named, path) : path === named
}

/** Returns whether a path matches a route. The route's parameters are segments in braces. */
function fits(path: string, route: string): boolean {
  const [given, segments] = [path.split('/'), route.split('/')]
  return (
    given.length === segments.length &&
    segments.every((segment, at) => (segment.startsWith('{') ? given[at] !== '' : segment === given[at]))
  )
}
