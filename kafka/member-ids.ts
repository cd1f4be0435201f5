/** Separates the id of a worker slot from the suffix that makes each later member id of the slot unique. */
const SEPARATOR = '.'

/** Returns the worker slot of a member. The slot is named by its first member id. */
export function slotOf(memberId: string): string {
  return memberId.split(SEPARATOR, 1)[0]
}

/**
 * Returns the member id that replaces a refused one. The new id begins with the id of the slot. Other members can
 * therefore still recognise the slot, which also keeps its rank in the order of member ids.
 */
export function successorId(memberId: string, fresh: string): string {
  return `${slotOf(memberId)}${SEPARATOR}${fresh}`
}
