import { matchesPath, parsePattern, sharesPaths } from './endpoint-pattern.ts'

/** The paths that the services of this process declare as limited. */
export interface LimitedPaths {
  /** Returns whether requests to this path are limited. */
  covers(path: string): boolean
  /** Returns whether a rule with this endpoint pattern can apply to any limited path. */
  canApply(endpointPattern: string): boolean
}

/**
 * Creates the set of limited paths.
 * @param declared patterns as in rules, but without methods: `/api/v1/*`, `/exact/path`
 * @throws Error that names an invalid pattern
 */
export function limitedPaths(declared: Iterable<string>): LimitedPaths {
  const patterns = [...new Set(declared)].map((text) => {
    const pattern = parsePattern(text)
    if (pattern === undefined || pattern.method !== undefined) throw new Error(`${text} is not a path pattern without a method`)
    return pattern
  })

  return {
    covers: (path) => patterns.some((pattern) => matchesPath(pattern, path)),
    canApply(endpointPattern) {
      const rule = parsePattern(endpointPattern)
      return rule !== undefined && patterns.some((pattern) => sharesPaths(pattern, rule))
    },
  }
}
