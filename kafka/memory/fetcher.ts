import {
  type Fetcher,
  type FetcherOptions,
  type PartitionData,
  partitionKey,
  type ReaderReset,
  type RecordChunk,
  type TopicPartition,
  TransportError,
} from '../transport.ts'
import type { MemoryBroker } from './broker.ts'

interface Assigned extends TopicPartition {
  readonly reset: ReaderReset
  position: number
  wasReset: boolean
  paused: boolean
  /** The high watermark last reported to the reader; -1 before the first report. */
  knownHighWatermark: number
}

/**
 * A waiting poll ends after this time even if there is no data, as when a broker sends an empty response. The time is
 * short, so that callers soon notice group events.
 */
const MAX_WAIT_MS = 100
/** Maximum number of records of one partition that one poll returns. */
const MAX_POLL_RECORDS = 5_000
const MAX_POLL_BYTES = 4 * 1_048_576

export function memoryFetcher(broker: MemoryBroker, { maxPollBytes = MAX_POLL_BYTES }: FetcherOptions = {}): Fetcher {
  const assigned = new Map<string, Assigned>()
  let wakeUp: (() => void) | undefined

  /**
   * Returns the offset at which reading starts.
   * @throws TransportError when the log does not have the offset and the reset policy is "fail"
   */
  function startOf({ topic, partition }: TopicPartition, offset: number, reset: ReaderReset): number {
    const log = broker.log(topic, partition)
    if (offset >= log.startOffset && offset <= log.endOffset) return offset
    if (reset === 'fail')
      throw new TransportError('OFFSET_OUT_OF_RANGE', `offset ${offset} of ${partitionKey(topic, partition)} is out of range`, {
        fatal: true,
      })
    return reset === 'latest' ? log.endOffset : log.startOffset
  }

  /**
   * Reads the next records of the assigned partitions.
   * @param all true to include partitions without new data, as a broker's empty response does
   */
  function collect(all: boolean, maxBytes: number): PartitionData[] {
    const result: PartitionData[] = []
    let budget = maxBytes
    for (const [key, each] of [...assigned]) {
      if (budget <= 0) break
      if (each.paused) continue
      const position = startOf(each, each.position, each.reset)
      if (position !== each.position) Object.assign(each, { position, wasReset: true })
      const data = broker.fetch(each.topic, each.partition, each.position, MAX_POLL_RECORDS, budget)
      if (!all && data.nextOffset === each.position && data.highWatermark === each.knownHighWatermark) continue
      each.position = data.nextOffset
      each.knownHighWatermark = data.highWatermark
      result.push({ ...data, wasReset: each.wasReset })
      each.wasReset = false
      if (data.chunks.length === 0) continue
      budget -= data.chunks.reduce((sum, chunk) => sum + bytesOf(chunk), 0)
      // Moves the partition to the end of the map, so that it comes last in the next call.
      assigned.delete(key)
      assigned.set(key, each)
    }
    return result
  }

  function changeOrTimeout(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancelTimer = broker.runtime.setTimer(timeoutMs, done)
      const stop = broker.onChange(done)
      wakeUp = done
      function done(): void {
        cancelTimer()
        stop()
        wakeUp = undefined
        resolve()
      }
    })
  }

  return {
    assign(partition, offset, reset) {
      const position = startOf(partition, offset, reset)
      const wasReset = position !== offset
      const key = partitionKey(partition.topic, partition.partition)
      assigned.set(key, {
        ...partition,
        reset,
        position,
        wasReset,
        paused: assigned.get(key)?.paused ?? false,
        knownHighWatermark: -1,
      })
    },
    unassign({ topic, partition }) {
      assigned.delete(partitionKey(topic, partition))
    },
    pause({ topic, partition }) {
      const each = assigned.get(partitionKey(topic, partition))
      if (each !== undefined) each.paused = true
    },
    resume({ topic, partition }) {
      const each = assigned.get(partitionKey(topic, partition))
      if (each === undefined || !each.paused) return
      each.paused = false
      wakeUp?.()
    },
    position: ({ topic, partition }) => assigned.get(partitionKey(topic, partition))?.position,
    async poll(timeoutMs, maxBytes = maxPollBytes) {
      const limit = Math.min(maxBytes, maxPollBytes)
      const ready = collect(false, limit)
      if (ready.length > 0 || timeoutMs <= 0) return ready
      await changeOrTimeout(Math.min(timeoutMs, MAX_WAIT_MS))
      return collect(true, limit)
    },
    wake() {
      wakeUp?.()
    },
    async close() {
      assigned.clear()
      wakeUp?.()
    },
  }
}

function bytesOf({ count, keyStart, keyEnd, valueStart, valueEnd }: RecordChunk): number {
  let bytes = 0
  for (let i = 0; i < count; i++) bytes += keyEnd[i] - keyStart[i] + valueEnd[i] - valueStart[i]
  return bytes
}
