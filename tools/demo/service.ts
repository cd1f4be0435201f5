import type { StreamSession } from '../session.ts'

export interface DemoOptions {
  /** Events per second. */
  readonly rate: number
  /** The same seed plays the same stream. */
  readonly seed: number
  /** Epoch ms. */
  readonly startAt: number
  /** Epoch ms; Infinity plays until stopped. */
  readonly endAt: number
}

/** The demo stream of one service. */
export interface DemoService {
  readonly name: string
  /**
   * Sends the stream to the service's topics or HTTP API. Resolves at `endAt`, when the user stops the demo, or when
   * the demo cannot be played.
   */
  play(session: StreamSession, options: DemoOptions): Promise<void>
}
