import { type Codec, CodecError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'

/** Declares a topic with text keys and JSON values, for tests without schemas. */
export function jsonTopic<V>(name: string, partitions: number, config: Record<string, string> = {}): Topic<string, V> {
  return { name, key: utf8, value: rawValue(json as Codec<V>), partitions, config }
}

const json: Codec<unknown> = {
  encode(value, out) {
    utf8.encode(JSON.stringify(value), out)
  },
  decode(buffer, start, end) {
    try {
      return JSON.parse(utf8.decode(buffer, start, end))
    } catch (error) {
      throw new CodecError('the value is not valid JSON', { cause: error })
    }
  },
}
