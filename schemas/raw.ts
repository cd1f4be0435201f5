import type { Codec } from './codec.ts'
import type { ValueFormat } from './topic.ts'

/** Values that a codec alone describes: no schema, no registry. */
export function rawValue<T>(codec: Codec<T>): ValueFormat<T> {
  return { schema: undefined, open: () => codec }
}
