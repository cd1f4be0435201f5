import { protocolErrorsCodesById } from '../../../kafka/client/protocol.ts'

const CODES = new Map(Object.entries(protocolErrorsCodesById as Record<string, string>).map(([code, name]) => [name, Number(code)]))

/** Returns an error's code, given its name in the protocol. */
export function codeOf(name: string): number {
  const code = CODES.get(name)
  if (code === undefined) throw new Error(`the protocol has no error ${name}`)
  return code
}

/** Thrown when a broker refuses a request or a part of it. */
export class Refused extends Error {
  readonly code: number
  constructor(name: string) {
    super(name)
    this.code = codeOf(name)
  }
}

/** Runs a step. Returns the error code if the step throws `Refused`, or 0 if it succeeds. */
export function codeFrom(step: () => void): number {
  try {
    step()
    return 0
  } catch (error) {
    if (error instanceof Refused) return error.code
    throw error
  }
}
