/** Direction of a user's swipe on a profile. A rewind is not a direction: it undoes the last swipe. */
export type SwipeDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

export function isPositive(direction: string): boolean {
  return direction === 'RIGHT' || direction === 'SUPER_LIKE'
}
