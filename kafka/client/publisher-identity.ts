import { TransportError } from '../transport.ts'
import { anonymousProducerId } from './anonymous-id.ts'
import type { Cluster } from './cluster.ts'
import type { Context } from './options.ts'
import type { PublishLane } from './publish-lane.ts'
import type { ProducerId } from './transaction.ts'

/** Between two tries to get a producer id. */
const RETRY_MS = 250

/** Gives partitions the producer id under which they count their batches. */
export interface Identities {
  /** @returns false: there is none yet. It is being asked for, and `onChange` follows. */
  give(lane: PublishLane): boolean
}

export interface IdentityHooks {
  readonly signal: AbortSignal
  /** There is a producer id, or it is time to ask again. */
  onChange(): void
  /** The broker refuses to give any. */
  onRefused(error: TransportError): void
}

export function openIdentities(context: Context, cluster: Cluster, { signal, onChange, onRefused }: IdentityHooks): Identities {
  let identity: ProducerId | undefined
  /** Lanes that were given this id: one of them that has none any more has used up its epochs and needs another. */
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
