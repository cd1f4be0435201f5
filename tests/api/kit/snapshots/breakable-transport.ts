import type { MemoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { inEpoch } from '../../../kafka/in-epoch.ts'

const POLL_MS = 10

export interface Breakable {
  readonly isAway: boolean
  /** Number of completed polls that began while the broker was unavailable. */
  silentPolls?: number
  /** Receives the leader epoch of each position from which a fetcher begins to read. */
  readonly epochs?: (number | undefined)[]
}

/**
 * Creates a transport to a broker that is unavailable while `state.isAway`.
 * @param begun receives, for each fetcher, the offset from which it began to read each partition
 */
export function breakableTransport(broker: MemoryBroker, state: Breakable, begun: number[][] = []): Transport {
  const inner = inEpoch(memoryTransport(broker), state.epochs ?? [])
  return {
    ...inner,
    async partitionCounts(topics) {
      if (state.isAway) throw new Error('no broker')
      return await inner.partitionCounts(topics)
    },
    fetcher(options) {
      const fetcher = inner.fetcher(options)
      const from: number[] = []
      begun.push(from)
      return {
        ...fetcher,
        assign(partition, offset, reset, leaderEpoch) {
          from[partition.partition] = offset
          fetcher.assign(partition, offset, reset, leaderEpoch)
        },
        // While the broker is unavailable, polls return no data, but do not fail either.
        async poll() {
          if (!state.isAway) return await fetcher.poll(POLL_MS)
          await new Promise((resolve) => setTimeout(resolve, POLL_MS))
          state.silentPolls = (state.silentPolls ?? 0) + 1
          return []
        },
      }
    },
  }
}
