/** Between a slot's own id and what tells its later member ids apart. */
const SEPARATOR = '.'

/** The worker slot that a member is of: the id that it was made with. */
export function slotOf(memberId: string): string {
  return memberId.split(SEPARATOR, 1)[0]
}

/** A member id in place of a refused one. It begins with the slot's, so that the slot stays known to the others, and its rank among them. */
export function successorId(memberId: string, fresh: string): string {
  return `${slotOf(memberId)}${SEPARATOR}${fresh}`
}
