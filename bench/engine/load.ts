import { partitionFor } from '../../kafka/partitioner.ts'
import type { Transport, WorkerProducer } from '../../kafka/transport.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { type JobInput, KEEP_ALL, PARTITIONS } from './job.ts'

/** The producer waits for acknowledgements after this many records. */
const FLUSH_RECORDS = 50_000

/** Creates the topic and writes the whole input. Partitions the records in the same way as the Java client. */
export async function loadInput(transport: Transport, topic: string, input: JobInput): Promise<void> {
  await transport.ensureTopics([{ name: topic, partitions: PARTITIONS, config: KEEP_ALL }])
  const producer = transport.producer({})
  await producer.init()
  const append = inputAppender(producer, topic, input)
  for (let i = 0; i < input.count; i++) {
    append(i)
    if (i % FLUSH_RECORDS === FLUSH_RECORDS - 1) await producer.commit(new Map(), undefined)
  }
  await producer.commit(new Map(), undefined)
  await producer.close()
}

/** @returns a function that appends the record with a given index to its partition */
export function inputAppender(producer: WorkerProducer, topic: string, input: JobInput): (index: number) => void {
  const appenders = Array.from({ length: PARTITIONS }, (_, partition) => producer.appender(topic, partition))
  const key = byteWriter()
  const value = byteWriter()
  return function append(index) {
    key.length = 0
    value.length = 0
    const timestamp = input.write(index, key, value)
    const partition = partitionFor(key.buffer, PARTITIONS, 0, key.length)
    appenders[partition].append(timestamp, key.buffer, 0, key.length, value.buffer, 0, value.length)
  }
}
