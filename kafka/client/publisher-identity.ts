import { TransportError } from '../transport.ts'
import { anonymousProducerId } from './anonymous-id.ts'
import type { Cluster } from './cluster.ts'
import type { Context } from './options.ts'
import type { PublishLane } from './publish-lane.ts'
import type { ProducerId } from './transaction.ts'

/** Wait between two attempts to get a producer id. */
const RETRY_MS = 250

/** Assigns producer ids to partitions. Each partition numbers its batches separately under the assigned id. */
export interface Identities {
  /**
   * Gives the lane a producer id.
   * @returns false if no id is available yet. In that case an id is requested, and `onChange` is called when it arrives
   */
  give(lane: PublishLane): boolean
}

export interface IdentityHooks {
  readonly signal: AbortSignal
  /** Called when a producer id has arrived or when it is time to ask for one again. */
  onChange(): void
  /** Called when the broker refuses to assign an id. */
  onRefused(error: TransportError): void
}

export function openIdentities(context: Context, cluster: Cluster, { signal, onChange, onRefused }: IdentityHooks): Identities {
  let identity: ProducerId | undefined
  /**
   * Lanes that have received the present id. If a lane asks again, it has used up the epochs of this id and needs a new
   * one.
   */
  let usedBy = new Set<PublishLane>()
  let isAsking = false

  async function ask(): Promise<void> {
    isAsking = true
    try {
      identity = await anonymousProducerId(context, cluster, signal)
      usedBy = new Set()
      context.runtime.log.debug({ ...identity }, 'kafka_publisher_initialized')
    } catch (error) {
      if (error instanceof TransportError && error.fatal) onRefused(error)
      else await context.runtime.sleep(RETRY_MS, signal)
    } finally {
      isAsking = false
      onChange()
    }
  }

  return {
    give(lane) {
      if (identity !== undefined && !usedBy.has(lane)) {
        lane.identity = identity
        usedBy.add(lane)
        return true
      }
      if (!isAsking) void ask()
      return false
    },
  }
}
