import type { PrimitiveReader } from './primitive-source.ts'
import { extended, MAX_DEPTH, type SourceBuilder } from './source.ts'
import { type AvroType, minimumBytes } from './types.ts'

/**
 * Returns a function that emits statements to skip a value that the reader does not need. The value's content is
 * checked only as far as needed to find its end.
 */
export function skipGenerator(
  { line, fresh, functionFor }: SourceBuilder,
  readPrimitive: PrimitiveReader,
): (type: AvroType, path: string) => void {
  function skip(type: AvroType, path: string): void {
    switch (type.kind) {
      case 'null':
        return
      case 'string':
      case 'bytes':
        line(`{ const length = readLength(b, p, e); if (cursor.at < 0) throw misfit(${path}); p = cursor.at + length }`)
        return
      case 'int':
      case 'long':
      case 'int64':
      case 'enum':
        line('if (p < e && b[p] < 128) p++')
        line(`else { skipLong(b, p, e); if (cursor.at < 0) throw misfit(${path}); p = cursor.at }`)
        return
      case 'boolean':
      case 'float':
      case 'double':
      case 'fixed': {
        const size = minimumBytes(type)
        line(`if (e - p < ${size}) throw misfit(${path}, TRUNCATED); p += ${size}`)
        return
      }
      case 'array':
        skipBlocks(minimumBytes(type.items), path, () => skip(type.items, path))
        return
      case 'map':
        skipBlocks(1 + minimumBytes(type.values), path, () => {
          skip({ kind: 'string' }, path)
          skip(type.values, path)
        })
        return
      case 'union': {
        const branch = fresh('branch')
        line(`let ${branch}`)
        readPrimitive('int', 'int', branch, path)
        line(`switch (${branch}) {`)
        type.branches.forEach((each, index) => {
          line(`case ${index}: {`)
          skip(each, path)
          line('break }')
        })
        line(`default: throw misfit(${path}, 'the union has no branch with index ' + ${branch} + ' (size: ${type.branches.length})') }`)
        return
      }
      case 'record': {
        const name = functionFor(type, (declared) => {
          line(`function ${declared}(b, p, e, d) {`)
          line(`if (d > ${MAX_DEPTH}) throw misfit('', 'records are nested deeper than ${MAX_DEPTH} levels')`)
          for (const field of type.fields) skip(field.type, extended("''", `.${field.name}`))
          line('return p }')
        })
        line(`try { p = ${name}(b, p, e, d + 1) } catch (error) { throw withPath(${path}, error) }`)
        return
      }
    }
  }

  /** Emits code that skips the blocks of an array or map. A block that declares its size is skipped in one step. */
  function skipBlocks(itemBytes: number, path: string, skipItem: () => void): void {
    const count = fresh('count')
    line(`for (;;) { let ${count} = readBlockCount(b, p, e, ${itemBytes})`)
    line(`if (cursor.at < 0) throw misfit(${path}); p = cursor.at`)
    line(`if (${count} === 0) break`)
    line(`if (lastBlockEnd() >= 0) { p = lastBlockEnd(); continue }`)
    line(`for (; ${count} > 0; ${count}--) {`)
    skipItem()
    line('} }')
  }

  return skip
}
