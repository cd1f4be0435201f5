/**
 * Epoch of tweet ids. The ids have the platform's format: milliseconds since this epoch, followed by 22 bits for a
 * sequence number. Ids exceed 2^53.
 */
const EPOCH_MS = 1_288_834_974_657
const LOW_BITS = 22n
const SEQUENCES = 2 ** 22

/**
 * Returns an id for a tweet that was created at `createdAt` (epoch ms). `sequence` distinguishes tweets of the same
 * millisecond.
 */
export function tweetId(createdAt: number, sequence: number): bigint {
  return (BigInt(Math.max(0, createdAt - EPOCH_MS)) << LOW_BITS) | BigInt(sequence % SEQUENCES)
}
