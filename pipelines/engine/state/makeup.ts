import { createHash } from 'node:crypto'
import type { GroupPeer } from '../../../kafka/transport.ts'

/** Begins the notices of workers that keep copies for learners. Earlier versions of the engine announce nothing. */
const NOTICE = 'copies='
const HASH_LETTERS = 16

/** The workers of a group, by member id, in order. */
export interface Makeup {
  /** Those among which the assignor distributes the partitions. */
  readonly active: readonly string[]
  /** Those that copy state before they ask for partitions. They subscribe to none of the sources. */
  readonly learners: readonly string[]
}

/** @param peers sorted by member id */
export function makeupOf(peers: readonly GroupPeer[], sources: ReadonlySet<string>): Makeup {
  const isActive = ({ topics }: GroupPeer) => topics.some((topic) => sources.has(topic))
  const ids = (of: readonly GroupPeer[]) => of.map(({ memberId }) => memberId)
  return { active: ids(peers.filter(isActive)), learners: ids(peers.filter((peer) => !isActive(peer))) }
}

/**
 * Returns the members, in order, among which the partitions will be distributed when the learner at the head of the
 * queue has become active. Learners follow each other in the order of their ids, so a learner that is further behind
 * prepares for the time when those before it are active.
 * @param memberId who asks
 */
export function nextMembers({ active, learners }: Makeup, memberId: string): string[] {
  const place = Math.max(0, learners.indexOf(memberId))
  return [...active, ...learners.slice(0, place + 1)].sort()
}

/** Announced by a worker that has no complete copies for a learner. */
export const NO_COPIES = `${NOTICE}none`

/** Returns what a worker announces when it has copies of everything that it gets together with the next learner. */
export function copiesNotice({ active, learners }: Makeup): string {
  const hash = createHash('sha256').update(JSON.stringify([active, learners[0]]))
  return `${NOTICE}${hash.digest('hex').slice(0, HASH_LETTERS)}`
}

/** Returns the active workers that have not announced a notice yet, without those of earlier versions of the engine. */
export function notReady(peers: readonly GroupPeer[], { active }: Makeup, notice: string): string[] {
  const waits = (peer: GroupPeer) => active.includes(peer.memberId) && peer.notice?.startsWith(NOTICE) === true && peer.notice !== notice
  return peers.filter(waits).map(({ memberId }) => memberId)
}
