import { Admin, Consumer, ProduceAcks, Producer } from '@platformatic/kafka'
import { decodeRecord, encodeRecord, type SchemasRecord } from './records.ts'

const SCHEMAS_TOPIC = '_schemas'
const PARTITION = 0
/** Attribute bit of control batches, which hold transaction markers and no data. */
const CONTROL_BATCH = 0x20
const FETCH_BYTES = 4 * 1024 * 1024
/**
 * The end of the log is known beforehand, so no fetch has to wait for new data. This only limits the wait for a slow
 * broker.
 */
const FETCH_WAIT_MS = 100
const TOPIC_ALREADY_EXISTS = 'TOPIC_ALREADY_EXISTS'

export interface SchemasTopic {
  /** Creates the compacted topic if it does not exist. */
  open(): Promise<void>
  /** Applies all records written since the last call, in order; the first call applies the whole topic. */
  catchUp(apply: (record: SchemasRecord) => void): Promise<void>
  /**
   * Writes all records in one batch; resolves when the broker has stored them. After a failure it is unknown whether
   * they were stored, so call `catchUp`.
   */
  append(records: readonly SchemasRecord[]): Promise<void>
  close(): Promise<void>
}

/** The topic that stores the registry's schemas. It has a single writer process. */
export function schemasTopic(bootstrapBrokers: string[]): SchemasTopic {
  const clientId = 'schema-registry'
  const admin = new Admin({ clientId, bootstrapBrokers })
  const producer = new Producer<string, string | null>({
    clientId,
    bootstrapBrokers,
    serializers: { key: (key) => Buffer.from(key ?? ''), value: (value) => (value == null ? undefined : Buffer.from(value)) as Buffer },
  })
  // Only used for fetch requests. The constructor requires a group id, but the consumer never joins the group.
  const reader = new Consumer({ clientId, bootstrapBrokers, groupId: clientId })
  let position = 0n

  async function open(): Promise<void> {
    if ((await admin.listTopics({ includeInternals: true })).includes(SCHEMAS_TOPIC)) return
    try {
      await admin.createTopics({
        topics: [SCHEMAS_TOPIC],
        partitions: 1,
        replicas: 1,
        configs: [{ name: 'cleanup.policy', value: 'compact' }],
      })
    } catch (error) {
      if (!String((error as Error).stack).includes(TOPIC_ALREADY_EXISTS)) throw error
    }
  }

  async function catchUp(apply: (record: SchemasRecord) => void): Promise<void> {
    const end = (await reader.listOffsets({ topics: [SCHEMAS_TOPIC] })).get(SCHEMAS_TOPIC)![PARTITION]
    while (position < end) {
      const metadata = await reader.metadata({ topics: [SCHEMAS_TOPIC] })
      const topic = metadata.topics.get(SCHEMAS_TOPIC)!
      const response = await reader.fetch({
        node: topic.partitions[PARTITION].leader,
        maxBytes: FETCH_BYTES,
        maxWaitTime: FETCH_WAIT_MS,
        topics: [
          {
            topicId: topic.id,
            partitions: [
              { partition: PARTITION, currentLeaderEpoch: -1, fetchOffset: position, lastFetchedEpoch: -1, partitionMaxBytes: FETCH_BYTES },
            ],
          },
        ],
      })
      for (const batch of response.responses[0]?.partitions[0]?.records ?? []) {
        for (const record of (batch.attributes & CONTROL_BATCH) === 0 ? batch.records : []) {
          // A batch may begin before the requested offset.
          if (batch.firstOffset + BigInt(record.offsetDelta) < position) continue
          const decoded = decodeRecord({ key: record.key?.toString() ?? '{}', value: record.value?.toString() ?? null })
          if (decoded) apply(decoded)
        }
        const next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
        if (next > position) position = next
      }
    }
  }

  async function append(records: readonly SchemasRecord[]): Promise<void> {
    const messages = records.map(encodeRecord).map(({ key, value }) => ({ topic: SCHEMAS_TOPIC, partition: PARTITION, key, value }))
    await producer.send({ messages, acks: ProduceAcks.ALL })
  }

  async function close(): Promise<void> {
    await Promise.allSettled([admin.close(), producer.close(), reader.close(true)])
  }

  return { open, catchUp, append, close }
}
