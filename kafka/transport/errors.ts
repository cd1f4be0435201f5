/**
 * Thrown when brokers no longer accept this producer or member: another one has replaced it, its transaction or session
 * has timed out, or a broker has lost the producer's records or state. Its uncommitted work will never be committed,
 * with the exception that `WorkerProducer.commit` describes.
 */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/**
 * Thrown when another process has initialised the same transactional id after this one. If this process initialised the
 * id again, it would only fence the other process.
 */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError'
}

/** Thrown for any other failure of the transport. `fatal` means that a retry cannot succeed. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: string
  readonly fatal: boolean
  constructor(code: string, message: string, options: { fatal: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.code = code
    this.fatal = options.fatal
  }
}

/**
 * Returns the error for a record that is too large for its topic.
 * @param limit maximum size of a batch in the topic, in bytes
 * @param needed size of a batch that contains only this record, in bytes
 */
export function recordTooLarge(topic: string, limit: number, needed: number): TransportError {
  const message = `topic ${topic} accepts batches of up to ${limit} bytes, but this record needs ${needed}`
  return new TransportError('MESSAGE_TOO_LARGE', message, { fatal: true })
}
