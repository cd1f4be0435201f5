import type { StreamSession } from '../session.ts'

export interface DemoOptions {
  /** Events per second. */
  readonly rate: number
  /** The same seed plays the same stream. */
  readonly seed: number
  /** Epoch ms. */
  readonly startAt: number
  /** Epoch ms; Infinity: until stopped. */
  readonly endAt: number
}

/** The part of one service in the demonstration. */
export interface DemoService {
  readonly name: string
  /** Sends its stream to the service's topics. Resolves at the end of the time, or when the user stops. */
  play(session: StreamSession, options: DemoOptions): Promise<void>
}
