import { partitionKey, type Transport, type TransportError } from '../../../kafka/transport.ts'
import { decodeRecord, encodeRecord, type SchemasRecord } from './records.ts'

const PLACE = { topic: '_schemas', partition: 0 }
const SPEC = { name: PLACE.topic, partitions: 1, replicationFactor: 1, config: { 'cleanup.policy': 'compact' } }
/**
 * Time limit of requests to the broker. Clients of the registry give up after 30 s, so an unavailable broker must be
 * reported earlier.
 */
const TIMEOUT_MS = 10_000

export interface SchemasTopic {
  /** Creates the compacted topic if it does not exist. */
  open(): Promise<void>
  /** Applies, in order, all records that were written since the last call. The first call applies the whole topic. */
  catchUp(apply: (record: SchemasRecord) => void): Promise<void>
  /**
   * Writes all records. Resolves when the broker has stored them. After a failure, it is unknown whether they were
   * stored; call `catchUp` to find out.
   */
  append(records: readonly SchemasRecord[]): Promise<void>
  close(): Promise<void>
}

/** Returns access to the topic that stores the registry's schemas. Only this process may write to it. */
export function schemasTopic(transport: Transport): SchemasTopic {
  const fetcher = transport.fetcher({ isolation: 'read_uncommitted' })
  const appender = transport.publisher().appender(PLACE.topic, PLACE.partition)
  let position = 0

  async function open(): Promise<void> {
    await transport.connect()
    await transport.ensureTopics([SPEC])
  }

  async function catchUp(apply: (record: SchemasRecord) => void): Promise<void> {
    const end = (await transport.offsets([PLACE], 'end')).get(partitionKey(PLACE.topic, PLACE.partition)) ?? 0
    const deadline = performance.now() + TIMEOUT_MS
    // The partition is assigned only until the end is reached, so that an idle registry fetches nothing.
    if (position < end) fetcher.assign(PLACE, position, 'earliest')
    try {
      while (position < end) {
        if (performance.now() > deadline) throw new Error(`the broker returns no records of ${PLACE.topic} from offset ${position}`)
        for (const { chunks, nextOffset } of await fetcher.poll(TIMEOUT_MS)) {
          for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
            const text = (from: number, to: number) => (from < 0 ? null : buffer.toString('utf8', from, to))
            for (let row = 0; row < count; row++) {
              const key = text(keyStart[row], keyEnd[row]) ?? '{}'
              const decoded = decodeRecord({ key, value: text(valueStart[row], valueEnd[row]) })
              if (decoded) apply(decoded)
            }
          }
          position = nextOffset
        }
      }
    } finally {
      fetcher.unassign(PLACE)
    }
  }

  async function append(records: readonly SchemasRecord[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let waiting = records.length
    function settled(count: number, error: TransportError | undefined): void {
      waiting -= count
      if (error !== undefined) reject(error)
      else if (waiting === 0) resolve()
    }
    for (const record of records) {
      const { key, value } = encodeRecord(record)
      const keyBytes = Buffer.from(key)
      const valueBytes = value === null ? null : Buffer.from(value)
      const receipt = { timeoutMs: TIMEOUT_MS, settled }
      appender.append(receipt, Date.now(), keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes?.length ?? 0)
    }
    await promise
  }

  return { open, catchUp, append, close: transport.close }
}
