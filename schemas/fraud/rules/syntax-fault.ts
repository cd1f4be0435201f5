import type { RawFault } from './faults.ts'

/** Carries the first fault out of lexer and parser. `parseCondition` catches it, so no caller sees it. */
class SyntaxFault extends Error {
  readonly fault: RawFault

  constructor(fault: RawFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** Returns an error to throw at the first fault of a text. */
export function syntaxFault(fault: RawFault): Error {
  return new SyntaxFault(fault)
}

/** Returns the fault that was thrown, or undefined if the error has another cause. */
export function thrownFault(error: unknown): RawFault | undefined {
  return error instanceof SyntaxFault ? error.fault : undefined
}
