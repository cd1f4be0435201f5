/** Separator between the id of a worker slot and the suffix that makes each later member id of the slot unique. */
const SEPARATOR = '.'

/** Returns the worker slot of a member. The id of a slot is the first member id that the slot had. */
export function slotOf(memberId: string): string {
  return memberId.split(SEPARATOR, 1)[0]
}

/**
 * Returns the member id that replaces a refused one. The new id begins with the id of the slot, so that other members
 * still recognise the slot, and the slot keeps its rank in the order of member ids.
 */
export function successorId(memberId: string, fresh: string): string {
  return `${slotOf(memberId)}${SEPARATOR}${fresh}`
}
