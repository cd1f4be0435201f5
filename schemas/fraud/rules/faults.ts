/** Why a condition is refused. */
export type FaultCode =
  | 'too_long'
  | 'too_deep'
  | 'bad_character'
  | 'bad_string'
  | 'bad_number'
  | 'syntax'
  | 'unknown_field'
  | 'unknown_function'
  | 'wrong_arguments'
  | 'wrong_type'
  | 'wrong_value'

/** A fault in a condition, for people and editors. */
export interface Fault {
  readonly code: FaultCode
  /** A sentence without the position. */
  readonly message: string
  /** Line of the fault, from 1. */
  readonly line: number
  /** Column of the fault, from 1, in code points. */
  readonly column: number
  /** UTF-16 offset of the start of the faulty part, for highlighting in a text field. */
  readonly start: number
  readonly end: number
  /**
   * Texts or kinds of values that would be valid here, such as `AND` or `a number`; or a limit, such as `at most 32
   * levels`.
   */
  readonly expected: readonly string[]
  /** The name or literal that the author probably meant. */
  readonly nearest?: string
}

/** A fault whose line and column are not computed yet. `start` and `end` are UTF-16 offsets. */
export type RawFault = Omit<Fault, 'line' | 'column'>

const LINE_BREAK = /\r\n|\n|\r/g

/** Adds line and column to a fault. */
export function locate(text: string, fault: RawFault): Fault {
  const before = text.slice(0, fault.start)
  let line = 1
  let lineStart = 0
  for (const { 0: lineBreak, index } of before.matchAll(LINE_BREAK)) {
    line++
    lineStart = index + lineBreak.length
  }
  return { ...fault, line, column: codePoints(before.slice(lineStart)) + 1 }
}

/** Returns the length of a string in code points. */
export function codePoints(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

/** Returns a description of the fault in one line, for logs and API errors. */
export function describeFault({ line, column, message, nearest }: Fault): string {
  const meant = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
  return `line ${line}, column ${column}: ${message}${meant}`
}
