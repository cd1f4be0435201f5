/** Separates the id of a worker slot from the suffix that distinguishes its later member ids. */
const SEPARATOR = '.'

/** Returns the worker slot of a member, which is the first member id of that slot. */
export function slotOf(memberId: string): string {
  return memberId.split(SEPARATOR, 1)[0]
}

/**
 * Returns the member id that replaces a refused one. It begins with the id of the slot, so that other members still
 * recognise the slot, and so that the slot keeps its rank in the order of member ids.
 */
export function successorId(memberId: string, fresh: string): string {
  return `${slotOf(memberId)}${SEPARATOR}${fresh}`
}
