import type { Initialised, Wire } from './wire.ts'

/** A sequence of requests to a cluster of one broker, and the answers that Apache Kafka gives. */
export interface Case {
  readonly name: string
  readonly answers: readonly unknown[]
  run(wire: Wire): Promise<unknown[]>
}

/** Creates a topic with one partition and a transactional producer. */
export async function begin(wire: Wire): Promise<{ readonly topic: string; readonly producer: Initialised }> {
  const [topic, producer] = [await wire.topic(), await wire.patiently(() => wire.init(wire.name('producer')))]
  return { topic, producer }
}
