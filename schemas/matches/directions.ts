/** What a user may do with a profile. A rewind takes the last of these back. */
export type SwipeDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

export function isPositive(direction: string): boolean {
  return direction === 'RIGHT' || direction === 'SUPER_LIKE'
}
