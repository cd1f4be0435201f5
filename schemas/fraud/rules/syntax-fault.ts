import type { RawFault } from './faults.ts'

/**
 * Thrown by the lexer and the parser at the first fault. `parseCondition` catches this error and returns its fault.
 */
class SyntaxFault extends Error {
  readonly fault: RawFault

  constructor(fault: RawFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** Creates the error to throw at the first fault in a text. */
export function syntaxFault(fault: RawFault): Error {
  return new SyntaxFault(fault)
}

/** Returns the fault that was thrown; undefined if the error has a different cause. */
export function thrownFault(error: unknown): RawFault | undefined {
  return error instanceof SyntaxFault ? error.fault : undefined
}
