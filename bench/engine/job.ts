import type { ByteWriter, Topology } from '../../pipelines/engine/index.ts'
import type { DataSetName } from '../../scripts/data-sets.ts'

/** Of inputs and outputs, of every contender. */
export const PARTITIONS = 4
/** Event times lie years back: nothing may be deleted for its age. */
export const KEEP_ALL = { 'retention.ms': '-1' }

/** The jobs that contenders are compared in: keys are UTF-8 text, values Avro binary of one record without any header, timestamps event times. */
export interface Job {
  readonly title: string
  /** The public data set that its input comes from; undefined: it is generated. */
  readonly data?: DataSetName
  /** The same records at every call. */
  input(dataDir: string, count: number): JobInput
  topology(options: JobTopology): Topology
}

/** Records of a job's input, and what is right for them. */
export interface JobInput {
  readonly count: number
  /** Appends key and value of a record. @returns its timestamp, epoch ms */
  write(index: number, key: ByteWriter, value: ByteWriter): number
  /** Computes what the output must be, by other means than the topology's. */
  check(): OutputCheck
}

/** Compares an output topic, record by record. */
export interface OutputCheck {
  /** @returns the first difference, undefined while there is none */
  record(buffer: Buffer, keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): string | undefined
  /** After the last record. @returns what is missing, undefined when nothing is */
  missing(): string | undefined
}

export interface JobTopology {
  readonly name: string
  readonly input: string
  readonly output: string
  /** Called for every input record. */
  readonly onRecord: () => void
}
