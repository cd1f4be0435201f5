import { createHash } from 'node:crypto'
import type { GroupPeer } from '../../../kafka/transport.ts'

/**
 * Prefix of the notices in which workers announce whether they have all copies that they need before the next learner
 * becomes active. Earlier versions of the engine announce nothing.
 */
const NOTICE = 'copies='
const HASH_LETTERS = 16

/** The roles of the workers in a group, each list sorted by member id. */
export interface Makeup {
  /** Workers among which the assignor distributes the partitions. */
  readonly active: readonly string[]
  /** Workers that copy state before they request partitions. They subscribe to none of the sources. */
  readonly learners: readonly string[]
}

/** Determines the roles of the members. @param peers sorted by member id */
export function makeupOf(peers: readonly GroupPeer[], sources: ReadonlySet<string>): Makeup {
  const isActive = ({ topics }: GroupPeer) => topics.some((topic) => sources.has(topic))
  const ids = (of: readonly GroupPeer[]) => of.map(({ memberId }) => memberId)
  return { active: ids(peers.filter(isActive)), learners: ids(peers.filter((peer) => !isActive(peer))) }
}

/**
 * Returns the sorted ids of the members that will share the partitions when the next learner is active or, if the
 * caller is a learner, when the caller is active. Learners become active one after another, in the order of their ids,
 * so all learners before the caller are included too.
 * @param memberId the worker that calls this function
 */
export function nextMembers({ active, learners }: Makeup, memberId: string): string[] {
  const place = Math.max(0, learners.indexOf(memberId))
  return [...active, ...learners.slice(0, place + 1)].sort()
}

/** The notice of a worker that is not ready for the next learner: it lacks copies, or no learner is waiting. */
export const NO_COPIES = `${NOTICE}none`

/**
 * Returns the notice of a worker that is ready for the next learner. Such a worker has copies of all partitions that it
 * will get when that learner becomes active.
 */
export function copiesNotice({ active, learners }: Makeup): string {
  const hash = createHash('sha256').update(JSON.stringify([active, learners[0]]))
  return `${NOTICE}${hash.digest('hex').slice(0, HASH_LETTERS)}`
}

/**
 * Returns the active workers that have not announced the given notice yet. Workers with an earlier version of the
 * engine are left out, because they never announce anything.
 */
export function notReady(peers: readonly GroupPeer[], { active }: Makeup, notice: string): string[] {
  const waits = (peer: GroupPeer) => active.includes(peer.memberId) && peer.notice?.startsWith(NOTICE) === true && peer.notice !== notice
  return peers.filter(waits).map(({ memberId }) => memberId)
}
