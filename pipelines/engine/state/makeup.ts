import { createHash } from 'node:crypto'
import type { GroupPeer } from '../../../kafka/transport.ts'

/**
 * Prefix of the notices with which workers announce their copies for learners. Earlier versions of the engine announce
 * nothing.
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
 * Returns the members, in order, among which the partitions will be distributed when the learner at the head of the
 * queue has become active. Learners become active in the order of their ids, so a learner further back in the queue
 * prepares for the time when all learners before it are active.
 * @param memberId the worker that calls this function
 */
export function nextMembers({ active, learners }: Makeup, memberId: string): string[] {
  const place = Math.max(0, learners.indexOf(memberId))
  return [...active, ...learners.slice(0, place + 1)].sort()
}

/** The notice of a worker that has no complete copies for a learner. */
export const NO_COPIES = `${NOTICE}none`

/** Returns the notice of a worker that has copies of all partitions that it will get when the next learner joins. */
export function copiesNotice({ active, learners }: Makeup): string {
  const hash = createHash('sha256').update(JSON.stringify([active, learners[0]]))
  return `${NOTICE}${hash.digest('hex').slice(0, HASH_LETTERS)}`
}

/**
 * Returns the active workers that have not announced the given notice yet. Workers with an earlier version of the
 * engine are left out.
 */
export function notReady(peers: readonly GroupPeer[], { active }: Makeup, notice: string): string[] {
  const waits = (peer: GroupPeer) => active.includes(peer.memberId) && peer.notice?.startsWith(NOTICE) === true && peer.notice !== notice
  return peers.filter(waits).map(({ memberId }) => memberId)
}
