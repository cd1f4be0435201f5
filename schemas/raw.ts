import type { Codec } from './codec.ts'
import type { ValueFormat } from './topic.ts'

/** Creates the format of values that need only a codec, without a schema or a registry. */
export function rawValue<T>(codec: Codec<T>): ValueFormat<T> {
  return { schema: undefined, open: () => codec }
}
