/** The parts of a pattern. For example, `POST /a/*` has the method POST and the prefix `/a/`. */
export interface EndpointPattern {
  /** The method; undefined for any. */
  readonly method: string | undefined
  readonly kind: 'exact' | 'prefix' | 'global'
  /** The exact path, or the prefix including its last slash; empty for `*`. */
  readonly path: string
}

/**
 * Matches an optional method in upper case and a space, followed by `*` or an absolute path. The path may end in `/*`.
 */
const PATTERN = /^(?:([A-Z][A-Z-]{2,31}) )?(?:(\*)|(\/[^\s*?#]*\/|\/)\*|(\/[^\s*?#]*))$/

/** Parses a pattern. Returns undefined if the text is not a pattern. */
export function parsePattern(text: string): EndpointPattern | undefined {
  const found = PATTERN.exec(text)
  if (found === null) return undefined
  const [, method, global, prefix, exact] = found
  if (global !== undefined) return { method, kind: 'global', path: '' }
  return prefix === undefined ? { method, kind: 'exact', path: exact } : { method, kind: 'prefix', path: prefix }
}

/** Returns whether the pattern matches a path, regardless of the method. */
export function matchesPath({ kind, path: own }: EndpointPattern, path: string): boolean {
  return kind === 'exact' ? path === own : path.startsWith(own)
}

/** Returns whether any path matches both patterns, regardless of the method. */
export function sharesPaths(one: EndpointPattern, other: EndpointPattern): boolean {
  // Two patterns have a path in common if and only if one of them matches the other's path or prefix. The prefix of
  // `*` is empty, so every path begins with it.
  return matchesPath(one, other.path) || matchesPath(other, one.path)
}

/**
 * Returns the method that a request counts as. A HEAD counts as a GET, because the two differ only in the body of the
 * answer.
 */
export function limitedMethod(method: string): string {
  return method === 'HEAD' ? 'GET' : method
}
