/**
 * How far the pairs of a deleted user have been cleared. This position is stored as the key of a timer, so that
 * clearing continues after a crash.
 */
export interface Leaving {
  readonly userId: string
  readonly among: 'pairs' | 'partners'
  /**
   * The last key that the previous step cleared. Before the first step, it is a text that sorts before all keys to
   * clear.
   */
  readonly after: string
}

const SEPARATOR = ' '

export function leavingKey({ userId, among, after }: Leaving): string {
  return [userId, among, after].join(SEPARATOR)
}

/** Parses the key of a timer. The key of a deletion that has just begun is the user id alone. */
export function parseLeavingKey(key: string): Leaving {
  const [userId, among, after] = key.split(SEPARATOR)
  return { userId, among: among === 'partners' ? 'partners' : 'pairs', after: after ?? '' }
}
