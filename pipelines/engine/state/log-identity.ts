import { createHash } from 'node:crypto'
import type { StateSession } from '../../../state/stores/store.ts'
import type { Changelog } from '../task/task-place.ts'

/** Positions are numbers, which are exact up to 53 bits. Two ids agree in 48 bits once in 3e14 times. */
const FINGERPRINT_BYTES = 6

function fingerprintOf(topicId: string): number {
  return createHash('sha256').update(topicId).digest().readUIntBE(0, FINGERPRINT_BYTES)
}

/**
 * Returns true if the state was built from another topic of the same name, which was deleted. State that an earlier
 * version of the engine has written names no topic, and counts as built from this one.
 * @param topicId undefined when it is unknown, which proves nothing
 */
export function isFromOtherLog(session: StateSession, { identityName }: Changelog, topicId: string | undefined): boolean {
  const known = session.position(identityName)
  return known !== undefined && topicId !== undefined && known !== fingerprintOf(topicId)
}

/** Records in the session's open batch from which topic the state is built. */
export function putLogIdentity(session: StateSession, { identityName }: Changelog, topicId: string | undefined): void {
  if (topicId !== undefined) session.putPosition(identityName, fingerprintOf(topicId))
}
