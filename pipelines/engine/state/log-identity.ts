import { createHash } from 'node:crypto'
import type { StateSession } from '../../../state/stores/store.ts'

/**
 * Number of bytes of a topic id's hash that are stored. The bytes are stored as a position, and positions are
 * JavaScript numbers, which are exact only up to 53 bits. With 48 bits, two ids have the same hash with a probability
 * of 1 in 3e14.
 */
const FINGERPRINT_BYTES = 6

/** A log whose topic is recorded in the state. */
export interface KnownLog {
  /** Name of the position that contains the fingerprint of the topic's id. */
  readonly identityName: string
}

/** Returns a short hash of a topic id. */
export function fingerprintOf(topicId: string): number {
  return createHash('sha256').update(topicId).digest().readUIntBE(0, FINGERPRINT_BYTES)
}

/**
 * Returns true if the state was built from a deleted topic of the same name. State from an earlier version of the
 * engine has no topic id, and counts as built from the current topic.
 * @param topicId undefined when it is unknown; the result is then false
 */
export function isFromOtherLog(session: StateSession, { identityName }: KnownLog, topicId: string | undefined): boolean {
  const known = session.position(identityName)
  return known !== undefined && topicId !== undefined && known !== fingerprintOf(topicId)
}

/** Adds the fingerprint of the topic from which the state was built to the session's open batch. */
export function putLogIdentity(session: StateSession, { identityName }: KnownLog, topicId: string | undefined): void {
  if (topicId !== undefined) session.putPosition(identityName, fingerprintOf(topicId))
}
