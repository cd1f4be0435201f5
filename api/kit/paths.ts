/** Which methods an address takes: tells 404 from 405, and answers OPTIONS. */
export interface PathTable {
  add(method: string, path: string): void
  /** In capitals, HEAD and OPTIONS included; empty: nothing lives there. */
  allowed(path: string): string[]
}

export function pathTable(): PathTable {
  const entries: { pattern: RegExp; method: string }[] = []
  return {
    add(method, path) {
      entries.push({ pattern: patternOf(path), method: method.toUpperCase() })
    },
    allowed(path) {
      const methods = new Set(entries.filter((entry) => entry.pattern.test(path)).map((entry) => entry.method))
      if (methods.size === 0) return []
      if (methods.has('GET')) methods.add('HEAD')
      return [...methods, 'OPTIONS'].sort()
    },
  }
}

/** `/v1/trends/{term}/history` → a pattern in which each parameter is one segment. */
function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((segment) => (/^\{.+\}$/.test(segment) ? '[^/]+' : RegExp.escape(segment)))
    .join('/')
  return new RegExp(`^${source}$`)
}
