import { FencedError, TransportError } from '../../kafka/transport.ts'

/** Returns whether a producer can continue after this error, once it has been initialised again. */
export function isPassing(error: unknown): boolean {
  return error instanceof FencedError || (error instanceof TransportError && !error.fatal && error.code !== 'CLOSED')
}

/** Repeats a step until it no longer fails with a temporary error. */
export async function untilDone(step: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      if (!isPassing(error)) throw error
    }
  }
}
