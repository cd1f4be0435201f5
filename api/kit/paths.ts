/**
 * The methods that each path accepts. The app uses this table to distinguish a 404 from a 405 and to answer OPTIONS.
 */
export interface PathTable {
  add(method: string, path: string): void
  /**
   * Returns the methods of a path in upper case, with OPTIONS, and with HEAD if GET is among them; empty if no route
   * has this path.
   */
  allowed(path: string): string[]
  /**
   * Returns whether there are routes with this exact path, but none of them has this method. If so, a route with
   * parameters must not match.
   */
  isTakenBefore(method: string, path: string): boolean
}

export function pathTable(): PathTable {
  const entries: { pattern: RegExp; method: string }[] = []
  /** Methods of the paths without parameters. */
  const exact = new Map<string, Set<string>>()
  return {
    add(method, path) {
      entries.push({ pattern: patternOf(path), method: method.toUpperCase() })
      if (!path.includes('{')) exact.set(path, (exact.get(path) ?? new Set()).add(method.toUpperCase()))
    },
    isTakenBefore(method, path) {
      const methods = exact.get(path)
      return methods !== undefined && !methods.has(method === 'HEAD' ? 'GET' : method)
    },
    allowed(path) {
      const fitting = () => entries.filter((entry) => entry.pattern.test(path)).map((entry) => entry.method)
      const methods = new Set(exact.get(path) ?? fitting())
      if (methods.size === 0) return []
      if (methods.has('GET')) methods.add('HEAD')
      return [...methods, 'OPTIONS'].sort()
    },
  }
}

/** Converts a path such as `/v1/trends/{term}/history` to a pattern in which each parameter matches one segment. */
function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((segment) => (/^\{.+\}$/.test(segment) ? '[^/]+' : RegExp.escape(segment)))
    .join('/')
  return new RegExp(`^${source}$`)
}
