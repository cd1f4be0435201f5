import { cursor } from './cursor.ts'
import * as read from './read.ts'
import * as write from './write.ts'

/** Thrown inside generated code; becomes a CodecError at its edge. No stack trace: hostile input must stay cheap. */
export class Misfit {
  readonly path: string
  readonly reason: string
  constructor(path: string, reason: string) {
    this.path = path
    this.reason = reason
  }
}

/** What generated code may call, by these names. */
const RUNTIME = {
  ...read,
  ...write,
  cursor,
  Buffer,
  /** The value at `path` does not fit; the reason is given or was left in the cursor. */
  misfit(path: string, reason: string = cursor.why): Misfit {
    return new Misfit(path, reason)
  },
  /** Prepends the path of a nested value to its error. */
  withPath(path: string, error: unknown): unknown {
    return error instanceof Misfit ? new Misfit(path + error.path, error.reason) : error
  },
}

/** Collects generated source and gives out variable names. */
export interface SourceBuilder {
  line(text: string): void
  /** A variable name that no other part uses. */
  fresh(prefix: string): string
  readonly text: string
}

export function sourceBuilder(): SourceBuilder {
  const lines: string[] = []
  let variables = 0
  return {
    line: (text) => void lines.push(text),
    fresh: (prefix) => `${prefix}${++variables}`,
    get text() {
      return lines.join('\n')
    },
  }
}

/**
 * Runs generated source once and returns what it returns. The source consists of fixed templates; everything that comes from a schema enters it
 * as a JSON literal or as a number.
 */
export function compileSource<T>(source: string): T {
  const names = Object.keys(RUNTIME)
  const build = new Function(...names, `'use strict'\n${source}`)
  return build(...names.map((name) => RUNTIME[name as keyof typeof RUNTIME])) as T
}

/** A JavaScript literal of a string, safe inside generated source. */
export function literal(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/** Joins a path expression and a constant part: both are JavaScript source. */
export function extended(path: string, part: string): string {
  return path === "''" ? literal(part) : `${path} + ${literal(part)}`
}

/** Deepest nesting of recursive records: far beyond honest data, far below the end of the stack. */
export const MAX_DEPTH = 500
