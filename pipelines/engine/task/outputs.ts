import { partitionFor } from '../../../kafka/partitioner.ts'
import type { RecordAppender, RecordChunk, RecordHeader } from '../../../kafka/transport.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { ByteSpan } from '../../../state/stores/packed-rows.ts'
import type { EmitOptions } from '../topology/api.ts'
import type { Codecs } from '../topology/codecs.ts'
import { OutputError, reasonOf } from './record-failure.ts'

/** Provides the appenders: the producer of the worker or of the test driver. */
export interface AppenderSource {
  appender(topic: string, partition: number): RecordAppender
  /** Number of bytes that were appended and are not acknowledged yet. */
  readonly pendingBytes: number
}

/**
 * Maximum amount of unsent data. A worker commits at 32 MiB of unsent data, so only a single call of an author's code
 * can reach this limit: an endless loop, or a handler that should yield from time to time but does not. The resulting
 * error names the processor, which an out-of-memory crash would not do. The error stops the worker, unless the source's
 * policy for `produce` skips the record.
 */
const MAX_UNSENT_BYTES = 256 * 1_048_576
/** Number of bytes that are emitted between two checks of the unsent bytes. */
const BYTES_PER_LOOK = 1_048_576
/** Kafka's value for a record without a timestamp. It is also the lowest timestamp that brokers accept. */
const NO_TIMESTAMP = -1

/**
 * Encodes and appends the output records of one task. All errors of `emit`, `broadcast` and `copy` are OutputErrors.
 */
export interface Outputs {
  emit(topic: AnyTopic, key: unknown, value: unknown, timestamp: number, options: EmitOptions | undefined): void
  broadcast(topic: AnyTopic, key: unknown, value: unknown, timestamp: number, options: EmitOptions | undefined): void
  /** Returns the partition of records whose `partitionBy` is this text. */
  partitionBy(topic: AnyTopic, text: string | Readonly<ByteSpan>): number
  /** Emits a record without key and value to every partition. */
  mark(topic: AnyTopic, timestamp: number, headers: readonly RecordHeader[]): void
  /**
   * Appends the encoded key and value of a record to another topic, without decoding them. Without `partition`, the key
   * determines the partition. If the record has no key, the partition number is that of its source partition, modulo
   * the partition count of the target topic.
   * @param headers replace the headers of the record
   * @param options by default, nothing is cut off, and the timestamp is the record's
   */
  copy(
    topic: string,
    partition: number | undefined,
    chunk: RecordChunk,
    row: number,
    headers: readonly RecordHeader[],
    options?: CopyOptions,
  ): void
}

interface CopyOptions {
  /** The positions in the chunk's buffer at which the copied key and value end. */
  readonly keyEnd: number
  readonly valueEnd: number
  /** Epoch ms. */
  readonly timestamp: number
}

interface Output {
  readonly key: Codec<unknown>
  readonly value: Codec<unknown>
  readonly appenders: readonly RecordAppender[]
}

/** Creates the outputs of a task. @param partitionCounts the partition count of every topic that the topology writes */
export function taskOutputs(producer: AppenderSource, codecs: Codecs, partitionCounts: ReadonlyMap<string, number>): Outputs {
  const outputs = new Map<AnyTopic, Output>()
  const appendersByTopic = new Map<string, readonly RecordAppender[]>()
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()
  const partitionBytes = byteWriter()
  /**
   * The output for which `keyBytes` contains `encodedKey` in encoded form; undefined if the bytes must not be reused.
   * Processors often emit several records with the same key in succession, so reuse saves time.
   */
  let encodedFor: Output | undefined
  let encodedKey: unknown
  /** The partition of the key in `keyBytes`; -1 before it is computed. */
  let keyPartition = -1
  let bytesSinceLook = 0

  function checkUnsent(): void {
    bytesSinceLook += keyBytes.length + valueBytes.length
    if (bytesSinceLook < BYTES_PER_LOOK) return
    bytesSinceLook = 0
    if (producer.pendingBytes > MAX_UNSENT_BYTES)
      throw new OutputError(`it has emitted more than ${MAX_UNSENT_BYTES / 1_048_576} MiB, which cannot be sent before it returns`)
  }

  function appendersOf(topic: string): readonly RecordAppender[] {
    const known = appendersByTopic.get(topic)
    if (known !== undefined) return known
    const count = partitionCounts.get(topic)
    if (count === undefined) throw new Error(`the partition count of output topic ${topic} is unknown`)
    const appenders = Array.from({ length: count }, (_, partition) => producer.appender(topic, partition))
    appendersByTopic.set(topic, appenders)
    return appenders
  }

  function open(topic: AnyTopic): Output {
    const output = { key: topic.key, value: codecs.topicValue(topic), appenders: appendersOf(topic.name) }
    outputs.set(topic, output)
    return output
  }

  function encodeKey(output: Output, key: unknown): void {
    encodedFor = undefined
    keyBytes.length = 0
    output.key.encode(key, keyBytes)
    keyPartition = -1
    // The bytes of an object are not reused, because the object may change between two records.
    if (typeof key !== 'string') return
    encodedFor = output
    encodedKey = key
  }

  function encode(output: Output, key: unknown, value: unknown): void {
    if (output !== encodedFor || key !== encodedKey) encodeKey(output, key)
    valueBytes.length = 0
    if (value !== null) output.value.encode(value, valueBytes)
  }

  function append(appender: RecordAppender, timestamp: number, hasValue: boolean, headers: readonly RecordHeader[] | undefined): void {
    // A timestamp of NaN would be written as a time in 1970, and retention would soon delete the record.
    if (!(timestamp >= NO_TIMESTAMP && timestamp <= Number.MAX_SAFE_INTEGER))
      throw new Error(`the timestamp ${timestamp} is not a time in epoch ms`)
    const ms = Math.trunc(timestamp)
    appender.append(ms, keyBytes.buffer, 0, keyBytes.length, hasValue ? valueBytes.buffer : null, 0, valueBytes.length, headers)
    checkUnsent()
  }

  function chosenPartition(partitionBy: string | undefined, partitions: number): number {
    if (partitionBy !== undefined) return partitionOf(partitionBy, partitions)
    if (keyPartition < 0) keyPartition = partitionFor(keyBytes.buffer, partitions, 0, keyBytes.length)
    return keyPartition
  }

  function partitionOf(text: string, partitions: number): number {
    partitionBytes.length = 0
    utf8.encode(text, partitionBytes)
    return partitionFor(partitionBytes.buffer, partitions, 0, partitionBytes.length)
  }

  function emit(topic: AnyTopic, key: unknown, value: unknown, timestamp: number, options: EmitOptions | undefined): void {
    const output = outputs.get(topic) ?? open(topic)
    encode(output, key, value)
    const { appenders } = output
    const partition = options?.partition ?? chosenPartition(options?.partitionBy, appenders.length)
    const appender = appenders[partition]
    if (appender === undefined) throw new Error(`the topic has no partition ${partition}, only ${appenders.length} partitions`)
    append(appender, options?.timestamp ?? timestamp, value !== null, options?.headers)
  }

  function broadcast(topic: AnyTopic, key: unknown, value: unknown, timestamp: number, options: EmitOptions | undefined): void {
    const output = outputs.get(topic) ?? open(topic)
    encode(output, key, value)
    for (const appender of output.appenders) append(appender, options?.timestamp ?? timestamp, value !== null, options?.headers)
  }

  function copy(
    topic: string,
    partition: number | undefined,
    chunk: RecordChunk,
    row: number,
    headers: readonly RecordHeader[],
    { keyEnd, valueEnd, timestamp }: CopyOptions,
  ): void {
    const appenders = appendersOf(topic)
    const keyStart = chunk.keyStart[row]
    const target =
      partition ?? (keyStart < 0 ? chunk.partition % appenders.length : partitionFor(chunk.buffer, appenders.length, keyStart, keyEnd))
    const valueStart = chunk.valueStart[row]
    appenders[target].append(
      timestamp,
      keyStart < 0 ? null : chunk.buffer,
      Math.max(keyStart, 0),
      Math.max(keyEnd, 0),
      valueStart < 0 ? null : chunk.buffer,
      Math.max(valueStart, 0),
      Math.max(valueEnd, 0),
      headers,
    )
  }

  function outputFailed(topic: string, error: unknown): OutputError {
    if (error instanceof OutputError) return error
    return new OutputError(`its output to ${topic} failed: ${reasonOf(error)}`, { cause: error })
  }

  return {
    emit(topic, key, value, timestamp, options) {
      try {
        emit(topic, key, value, timestamp, options)
      } catch (error) {
        throw outputFailed(topic.name, error)
      }
    },
    broadcast(topic, key, value, timestamp, options) {
      try {
        broadcast(topic, key, value, timestamp, options)
      } catch (error) {
        throw outputFailed(topic.name, error)
      }
    },
    partitionBy(topic, text) {
      const partitions = appendersOf(topic.name).length
      if (partitions === 1) return 0
      if (typeof text === 'object') return partitionFor(text.buffer, partitions, text.start, text.end)
      return partitionOf(text, partitions)
    },
    mark(topic, timestamp, headers) {
      for (const appender of appendersOf(topic.name)) appender.append(timestamp, null, 0, 0, null, 0, 0, headers)
    },
    copy(topic, partition, chunk, row, headers, options = completely(chunk, row)) {
      try {
        copy(topic, partition, chunk, row, headers, options)
      } catch (error) {
        throw outputFailed(topic, error)
      }
    },
  }
}

function completely({ keyEnd, valueEnd, timestamps }: RecordChunk, row: number): CopyOptions {
  return { keyEnd: keyEnd[row], valueEnd: valueEnd[row], timestamp: timestamps[row] }
}
