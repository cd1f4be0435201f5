import { decodeRecord, type EncodedRecord, encodeRecord } from '../../../../deploy/local/registry/records.ts'
import type { SchemasTopic } from '../../../../deploy/local/registry/schemas-topic.ts'

export interface MemoryTopic extends SchemasTopic {
  readonly log: EncodedRecord[]
  /** Makes the next append fail: either before or after the topic has stored the records. */
  failNext(when: 'before' | 'after'): void
  /** Simulates complete compaction: keeps only the last record of each key, and removes tombstones. */
  compact(): void
  /** Returns a topic with the same log. Like the topic of another process, it reads the log from the start. */
  reopened(): MemoryTopic
}

/** Creates the schemas topic without a broker. Keys and values are encoded and decoded as on a real broker. */
export function memoryTopic(log: EncodedRecord[] = []): MemoryTopic {
  let position = 0
  let failure: 'before' | 'after' | undefined
  return {
    log,
    failNext(when) {
      failure = when
    },
    compact() {
      const last = new Map(log.map((record) => [record.key, record]))
      const kept = log.filter((record) => record.value !== null && record === last.get(record.key))
      log.splice(0, log.length, ...kept)
      position = log.length
    },
    reopened: () => memoryTopic(log),
    open: async () => undefined,
    async catchUp(apply) {
      for (; position < log.length; position++) {
        const record = decodeRecord(log[position])
        if (record) apply(record)
      }
    },
    async append(records) {
      const failing = failure
      failure = undefined
      if (failing === 'before') throw new Error('broker unreachable')
      log.push(...records.map(encodeRecord))
      if (failing === 'after') throw new Error('timed out')
    },
    close: async () => undefined,
  }
}
