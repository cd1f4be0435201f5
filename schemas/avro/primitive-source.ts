import type { SourceBuilder } from './source.ts'
import type { PrimitiveKind } from './types.ts'

/**
 * Emits statements that read one primitive value into `target`. Paths are source text of JavaScript string expressions.
 */
export type PrimitiveReader = (from: PrimitiveKind, to: PrimitiveKind, target: string, path: string) => void

export function primitiveReader({ line }: SourceBuilder): PrimitiveReader {
  function readPrimitive(from: PrimitiveKind, to: PrimitiveKind, target: string, path: string): void {
    switch (from) {
      case 'null':
        line(`${target} = null`)
        return
      case 'boolean':
        line(`if (p >= e) throw misfit(${path}, TRUNCATED)`)
        line(`if (b[p] > 1) throw misfit(${path}, 'a boolean must be 0 or 1')`)
        line(`${target} = b[p++] === 1`)
        return
      case 'int':
        readVarint('readInt', to === 'int64', target, path)
        return
      case 'long':
      case 'int64': {
        const readers: { [kind in PrimitiveKind]?: string } = { int64: 'readInt64', float: 'readLongAsDouble', double: 'readLongAsDouble' }
        readVarint(readers[to] ?? 'readLong', to === 'int64', target, path)
        return
      }
      case 'float':
      case 'double': {
        const size = from === 'float' ? 4 : 8
        line(`if (e - p < ${size}) throw misfit(${path}, TRUNCATED)`)
        line(`${target} = ${from === 'float' ? 'readFloat' : 'readDouble'}(b, p); p += ${size}`)
        return
      }
      case 'string':
      case 'bytes':
        line(`${target} = ${to === 'string' ? 'readString' : 'readBytes'}(b, p, e)`)
        line(`if (cursor.at < 0) throw misfit(${path}); p = cursor.at`)
        return
    }
  }

  /**
   * Emits code that reads a varint. The code for varints of one byte is inlined, because most counts, indexes and small
   * numbers take one byte. Longer varints need a function call.
   */
  function readVarint(reader: string, big: boolean, target: string, path: string): void {
    const small = '(b[p] >>> 1) ^ -(b[p] & 1)'
    line(`if (p < e && b[p] < 128) { ${target} = ${big ? `BigInt(${small})` : small}; p++ } else {`)
    const value = `${reader}(b, p, e)`
    line(`${target} = ${big && reader === 'readInt' ? `BigInt(${value})` : value}`)
    line(`if (cursor.at < 0) throw misfit(${path}); p = cursor.at }`)
  }

  return readPrimitive
}
