import { systemRuntime } from '../../runtime/system.ts'
import { openCluster } from './cluster.ts'
import { openCoordinator } from './coordinator.ts'
import { classify, Disconnected, errorName } from './errors.ts'
import type { KeptSession } from './kept-session.ts'
import type { Context, ResolvedKafkaOptions } from './options.ts'
import { consumerGroupHeartbeatV1 } from './protocol.ts'
import type { BeatAnswer, KeptMember } from './stall-watch.ts'

/**
 * Time limit of one request. After this time, it is better to send the next heartbeat than to wait for a late answer.
 */
const REQUEST_TIMEOUT_MS = 3_000
const UNCHANGED_TIMEOUT = -1

/**
 * Sends heartbeats for a member over separate connections. The heartbeats repeat what the member last reported. They
 * only keep the session alive and the member's epoch current. They neither join the group nor give up partitions.
 */
export function openKeptMember(options: ResolvedKafkaOptions, { groupId, clientId }: KeptSession): KeptMember {
  const closing = new AbortController()
  const requestTimeoutMs = Math.min(options.requestTimeoutMs, REQUEST_TIMEOUT_MS)
  const context: Context = { options: { ...options, clientId, requestTimeoutMs }, runtime: systemRuntime(), closing: closing.signal }
  const cluster = openCluster(context)
  const coordinator = openCoordinator(context, cluster, 'group', groupId)

  async function beat({ memberId, epoch, owned }: KeptSession): Promise<BeatAnswer> {
    try {
      const { api } = consumerGroupHeartbeatV1
      const answer = await coordinator.send(api, groupId, memberId, epoch, null, null, UNCHANGED_TIMEOUT, null, null, null, owned)
      const name = errorName(answer.errorCode)
      if (name === 'NONE') return { type: 'kept', epoch: answer.memberEpoch }
      const kind = classify(name)
      if (kind === 'stale-coordinator') coordinator.forget()
      return { type: kind === 'stale-coordinator' || kind === 'passing' ? 'again' : 'lost' }
    } catch (error) {
      if (error instanceof Disconnected) return { type: 'again' }
      throw error
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    await coordinator.close()
    await cluster.close()
  }

  return { beat, close }
}
