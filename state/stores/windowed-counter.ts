import { avroValue } from '../../schemas/avro/value.ts'
import type { AvroSchema, ValueFormat } from '../../schemas/topic.ts'
import type { Buckets } from './buckets.ts'

/** The stored form of buckets: the number of the newest bucket, the distances between buckets, and the counts. */
interface WindowedCounter {
  /** Number of the newest bucket. */
  newest: number
  /** Distance of each bucket from the previous one; 0 for the first bucket. */
  gaps: number[]
  counts: number[]
}

const windowedCounterSchema: AvroSchema = {
  type: 'record',
  name: 'WindowedCounter',
  namespace: 'millrace.state',
  fields: [
    { name: 'newest', type: 'long' },
    { name: 'gaps', type: { type: 'array', items: 'long' } },
    { name: 'counts', type: { type: 'array', items: 'long' } },
  ],
}

/**
 * Creates the value format of windowed counter stores. State and changelogs contain the number of the newest bucket,
 * and the distance of each bucket from the previous one. In memory, `Buckets` contains the number of the oldest bucket,
 * and the distance of each bucket from the oldest.
 */
export function windowedCounterValue(): ValueFormat<Buckets> {
  const stored = avroValue<WindowedCounter>(windowedCounterSchema)
  return {
    schema: stored.schema,
    open(schemaId, schemas) {
      const codec = stored.open(schemaId, schemas)
      return {
        encode({ first, at, counts }, out) {
          // `map` creates an array of exactly this size, whereas the first `push` reserves 17 elements.
          const gaps = at.map((place, i) => (i === 0 ? 0 : place - at[i - 1]))
          codec.encode({ newest: first + at[at.length - 1], gaps, counts }, out)
        },
        decode(buffer, start, end) {
          const { newest, gaps: at, counts } = codec.decode(buffer, start, end)
          for (let i = 1; i < at.length; i++) at[i] += at[i - 1]
          return { first: newest - (at.at(-1) ?? 0), at, counts }
        },
      }
    },
  }
}
