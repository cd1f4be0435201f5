import type { PartitionData, RecordChunk } from '../../../kafka/transport.ts'
import { type Codec, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
import { firstOffset } from './lost-records.ts'
import type { BatchLimits, SinkRecord } from './target.ts'

/** A record that the sink cannot use, and the reason. */
export interface BadRecord {
  readonly chunk: RecordChunk
  readonly row: number
  readonly code: 'unreadable_batch' | 'undecodable_key' | 'undecodable_value' | 'no_key' | 'unknown_schema' | 'refused_by_target'
  readonly message: string
}

/** A record together with its bytes, for sinks that write it to another topic. */
export interface QueuedRecord extends SinkRecord {
  readonly chunk: RecordChunk
  readonly row: number
}

/** The records that `take` removed from the queue. */
export interface Taken {
  readonly records: QueuedRecord[]
  readonly bad: BadRecord[]
  /** The offset after the removed records. */
  readonly next: number
  /** Number of removed records, usable or not. */
  readonly count: number
}

export interface QueueOptions {
  readonly key: Codec<unknown>
  readonly value: Codec<unknown>
  /** Returns true if the registry does not have this schema id. */
  readonly isMissing: (schemaId: number) => boolean
}

interface QueuedChunk {
  readonly chunk: RecordChunk
  /** The offset after the chunk and after any skipped offsets that follow it. */
  readonly after: number
}

/** Fetched records of one partition that wait to be written. */
export interface PartitionQueue {
  readonly records: number
  readonly bytes: number
  /** The offset after everything that was pushed; undefined before the first push. */
  readonly end: number | undefined
  /** The id of the schema that must be loaded before `take` can continue; otherwise undefined. */
  readonly waitsForSchema: number | undefined
  push(data: PartitionData): void
  /**
   * Removes and decodes records from the front of the queue, within the limits. Returns undefined when the queue is
   * empty or its first record needs a schema that must be loaded first.
   */
  take(limits: Pick<BatchLimits, 'maxRecords' | 'maxBytes'>): Taken | undefined
}

export function partitionQueue({ key: keyCodec, value: valueCodec, isMissing }: QueueOptions): PartitionQueue {
  const chunks: QueuedChunk[] = []
  /** In the first chunk, the first row that has not been taken yet. */
  let row = 0
  let records = 0
  let bytes = 0
  let end: number | undefined
  let waitsForSchema: number | undefined

  /**
   * Drops the queued records from this offset on. If a log has lost its last records, its new records get offsets that
   * the queue already contains. The queued records with these offsets are no longer in the log.
   */
  function dropFrom(offset: number): void {
    for (let last = chunks.at(-1); last !== undefined && last.after > offset; last = chunks.at(-1)) {
      const { chunk } = last
      const first = chunks.length === 1 ? row : 0
      let kept = chunk.count
      for (; kept > first && chunk.offsets[kept - 1] >= offset; kept--) {
        records--
        bytes -= recordBytes(chunk, kept - 1)
      }
      chunks.pop()
      if (kept === first) {
        if (chunks.length === 0) row = 0
        continue
      }
      chunks.push({ chunk: { ...chunk, count: kept }, after: offset })
      return
    }
  }

  function push(data: PartitionData): void {
    const filled = data.chunks.filter((chunk) => chunk.count > 0)
    const from = firstOffset(data)
    if (end !== undefined && from < end) dropFrom(from)
    filled.forEach((chunk, index) => {
      const last = index === filled.length - 1
      chunks.push({ chunk, after: last ? data.nextOffset : chunk.offsets[chunk.count - 1] + 1 })
      records += chunk.count
      for (let each = 0; each < chunk.count; each++) bytes += recordBytes(chunk, each)
    })
    // If the data contains only skipped offsets, they are added to the last chunk of the queue.
    if (filled.length === 0 && chunks.length > 0) chunks.push({ ...(chunks.pop() as QueuedChunk), after: data.nextOffset })
    end = data.nextOffset
  }

  function take(limits: Pick<BatchLimits, 'maxRecords' | 'maxBytes'>): Taken | undefined {
    const taken: QueuedRecord[] = []
    const bad: BadRecord[] = []
    let next = -1
    let count = 0
    let takenBytes = 0
    waitsForSchema = undefined
    while (chunks.length > 0 && count < limits.maxRecords && takenBytes < limits.maxBytes) {
      const { chunk, after } = chunks[0]
      const record = decodeRow(chunk, row)
      if (record === undefined) break
      if (isBad(record)) bad.push(record)
      else taken.push(record)
      const size = recordBytes(chunk, row)
      bytes -= size
      takenBytes += size
      records--
      count++
      next = chunk.offsets[row] + 1
      row++
      if (row < chunk.count) continue
      next = after
      chunks.shift()
      row = 0
    }
    return count === 0 ? undefined : { records: taken, bad, next, count }
  }

  /** Decodes one record. Returns undefined when its schema must be loaded first. */
  function decodeRow(chunk: RecordChunk, at: number): QueuedRecord | BadRecord | undefined {
    if (chunk.unreadable !== undefined) return { chunk, row: at, code: 'unreadable_batch', message: chunk.unreadable }
    if (chunk.keyStart[at] < 0) return { chunk, row: at, code: 'no_key', message: 'the record has no key' }
    let key: unknown
    try {
      key = keyCodec.decode(chunk.buffer, chunk.keyStart[at], chunk.keyEnd[at])
    } catch (error) {
      return refusal(chunk, at, 'undecodable_key', error)
    }
    try {
      const value = chunk.valueStart[at] < 0 ? null : valueCodec.decode(chunk.buffer, chunk.valueStart[at], chunk.valueEnd[at])
      return { offset: chunk.offsets[at], timestamp: chunk.timestamps[at], key, value, chunk, row: at }
    } catch (error) {
      return refusal(chunk, at, 'undecodable_value', error)
    }
  }

  function refusal(chunk: RecordChunk, at: number, code: BadRecord['code'], error: unknown): BadRecord | undefined {
    if (error instanceof CodecError) return { chunk, row: at, code, message: error.message }
    if (!(error instanceof UnknownSchemaError)) throw error
    const { schemaId } = error
    if (isMissing(schemaId)) {
      return { chunk, row: at, code: 'unknown_schema', message: `the schema registry has no Avro schema with id ${schemaId}` }
    }
    waitsForSchema = schemaId
    return undefined
  }

  return {
    push,
    take,
    get records() {
      return records
    },
    get bytes() {
      return bytes
    },
    get end() {
      return end
    },
    get waitsForSchema() {
      return waitsForSchema
    },
  }
}

function isBad(record: QueuedRecord | BadRecord): record is BadRecord {
  return 'code' in record
}

function recordBytes(chunk: RecordChunk, row: number): number {
  return Math.max(0, chunk.keyEnd[row] - chunk.keyStart[row]) + Math.max(0, chunk.valueEnd[row] - chunk.valueStart[row])
}
