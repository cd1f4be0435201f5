import type { ByteWriter, Topology } from '../../pipelines/engine/index.ts'
import type { DataSetName } from '../../scripts/data-sets.ts'

/** Number of partitions of inputs and outputs for every contender. */
export const PARTITIONS = 4
/** Topic configuration that keeps all records, because event times can be years in the past. */
export const KEEP_ALL = { 'retention.ms': '-1' }

/**
 * A job on which contenders are compared. Keys are UTF-8 text, values are single records in Avro binary without a
 * header, and timestamps are event times.
 */
export interface Job {
  readonly title: string
  /** The public data set of the input; undefined when the input is generated. */
  readonly data?: DataSetName
  /** Creates the input. Calls with the same arguments return the same records. */
  input(dataDir: string, count: number, options?: InputOptions): JobInput
  topology(options: JobTopology): Topology
}

export interface InputOptions {
  /** Number of cards in job J2. If undefined, the cards of the data set are used. */
  readonly cards?: number | undefined
}

/** The records of a job's input, and a check of the job's output. */
export interface JobInput {
  readonly count: number
  /**
   * Appends the key and the value of a record to the writers.
   * @returns the record's timestamp, epoch ms
   */
  write(index: number, key: ByteWriter, value: ByteWriter): number
  /** Computes the expected output independently of the topology. */
  check(): OutputCheck
}

/** Compares an output topic with the expected output, record by record. */
export interface OutputCheck {
  /**
   * Checks the next output record.
   * @returns a description of the first difference; undefined when there is none so far
   */
  record(buffer: Buffer, keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): string | undefined
  /**
   * Checks that the output is complete. Must be called after the last record.
   * @returns a description of the missing output; undefined when nothing is missing
   */
  missing(): string | undefined
}

export interface JobTopology {
  readonly name: string
  readonly input: string
  readonly output: string
  /** Called for every input record. */
  readonly onRecord: () => void
  /** Number of standbys of each task, for measurements that start and stop workers. */
  readonly standby?: 0 | 1
  /** Number of bytes that J2 adds to the state of each card. Default 0. */
  readonly statePadding?: number | undefined
}
