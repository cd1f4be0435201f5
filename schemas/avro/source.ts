import { cursor } from './cursor.ts'
import * as read from './read.ts'
import * as write from './write.ts'

/**
 * Thrown inside generated code and converted to a CodecError at the code's boundary. It has no stack trace, because
 * malicious input must be cheap to reject.
 */
export class Misfit {
  readonly path: string
  readonly reason: string
  constructor(path: string, reason: string) {
    this.path = path
    this.reason = reason
  }
}

/** The functions and objects that generated code may use, under these names. */
const RUNTIME = {
  ...read,
  ...write,
  cursor,
  Buffer,
  /** Creates an error for an invalid value at `path`. The default reason is the reason in the cursor. */
  misfit(path: string, reason: string = cursor.why): Misfit {
    return new Misfit(path, reason)
  },
  /** Prepends the path of the enclosing value to the path of a nested error. */
  withPath(path: string, error: unknown): unknown {
    return error instanceof Misfit ? new Misfit(path + error.path, error.reason) : error
  },
}

/** Collects generated source and assigns names to its variables. */
export interface SourceBuilder {
  line(text: string): void
  /** Returns a unique variable name. */
  fresh(prefix: string): string
  /**
   * Returns the name of the function for a record.
   * @param write emits the function; called at most once per record, after the calling function is complete
   */
  functionFor(record: object, write: (name: string) => void): string
  /** Emits the functions for records, and returns the whole source. */
  finish(): string
}

export function sourceBuilder(): SourceBuilder {
  const lines: string[] = []
  const functions = new Map<object, string>()
  const pending: (() => void)[] = []
  let variables = 0
  const fresh = (prefix: string) => `${prefix}${++variables}`
  return {
    line: (text) => void lines.push(text),
    fresh,
    functionFor(record, write) {
      const known = functions.get(record)
      if (known !== undefined) return known
      const name = fresh('record')
      functions.set(record, name)
      pending.push(() => write(name))
      return name
    },
    finish() {
      for (let next = pending.pop(); next; next = pending.pop()) next()
      return lines.join('\n')
    },
  }
}

/**
 * Evaluates generated source once and returns its function `root`. The source consists of fixed templates. Everything
 * that comes from a schema is inserted as a JSON literal or a number.
 */
export function compileSource<T>(source: SourceBuilder): T {
  const names = Object.keys(RUNTIME)
  const build = new Function(...names, `'use strict'\n${source.finish()}\nreturn root`)
  return build(...names.map((name) => RUNTIME[name as keyof typeof RUNTIME])) as T
}

/** Returns a JavaScript string literal that is safe to insert into generated source. */
export function literal(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/** Returns the source of an expression that appends the text `part` to the path expression `path`. */
export function extended(path: string, part: string): string {
  return path === "''" ? literal(part) : `${path} + ${literal(part)}`
}

/**
 * Maximum depth of recursive records. It is far above the depth of legitimate data, and far below the depth at which
 * the stack overflows.
 */
export const MAX_DEPTH = 500
