import type { Evidence } from './evidence.ts'

/** Returns when the profiles of users were deleted, epoch ms. */
export function deletionsOf({ logs }: Evidence): ReadonlyMap<string, number> {
  return new Map(logs.matchDeletions.map(({ key, value }) => [key, value.deleted_at]))
}
