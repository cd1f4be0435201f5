import { CodecError } from '../codec.ts'
import type { AvroSchema } from '../topic.ts'
import { cursor } from './cursor.ts'
import { defaultSource } from './default.ts'
import { parseSchema, parseWriterSchema } from './parse.ts'
import { primitiveReader } from './primitive-source.ts'
import { messageOf, type Plan, type RecordPlan, resolve } from './resolve.ts'
import { skipGenerator } from './skip-source.ts'
import { compileSource, extended, literal, MAX_DEPTH, Misfit, type SourceBuilder, sourceBuilder } from './source.ts'
import { isRecursive, unqualified } from './types.ts'

/**
 * Maximum length of a preallocated array. Longer arrays grow while they are read, so that a malicious count in nested
 * arrays cannot make the decoder allocate memory for items that do not exist.
 */
const MAX_PREALLOCATED = 1024

/**
 * Decodes exactly the bytes [start, end).
 * @throws CodecError with the path of the invalid value
 */
export type Decode<T> = (buffer: Buffer, start: number, end: number) => T

/**
 * Function of generated code. Arguments: `b` buffer, `p` position, `e` end, `d` depth of nested records. Stores the new
 * position in the cursor.
 */
type RawDecode = (b: Buffer, p: number, e: number, d: number) => unknown

/**
 * Compiles a decoder that reads values of the writer's schema as values of the reader's schema.
 * @throws SchemaError, IncompatibleSchemaError
 */
export function compileDecoder<T>(writer: AvroSchema, reader: AvroSchema = writer): Decode<T> {
  const type = parseSchema(reader)
  const raw = generateDecoder(resolve(writer === reader ? type : parseWriterSchema(writer), type))
  const root = 'name' in type ? unqualified(type.name) : type.kind
  return function decodeAvro(buffer, start, end) {
    cursor.emptyItems = 0
    if (start < 0 || end > buffer.length)
      throw new CodecError(`${root}: [${start}, ${end}) is outside the buffer of ${buffer.length} bytes`)
    try {
      const value = raw(buffer, start, end, 0)
      if (cursor.at === end) return value as T
    } catch (error) {
      throw error instanceof Misfit ? new CodecError(`${root}${error.path}: ${error.reason}`) : error
    }
    throw new CodecError(`${root}: ${end - cursor.at} bytes are left after the value`)
  }
}

function generateDecoder(plan: Plan): RawDecode {
  const out = sourceBuilder()
  out.line('function root(b, p, e, d) { let value')
  decoderGenerator(out)(plan, 'value', "''")
  out.line('cursor.at = p; return value }')
  return compileSource(out)
}

/**
 * Returns a function that emits statements. The statements read from `b` at `p`, and never past `e`. Paths are the
 * source text of JavaScript string expressions. These expressions are evaluated only on failure.
 */
function decoderGenerator(out: SourceBuilder) {
  const { line, fresh } = out
  const readPrimitive = primitiveReader(out)
  const skip = skipGenerator(out, readPrimitive)

  function read(plan: Plan, target: string, path: string): void {
    switch (plan.op) {
      case 'primitive':
        readPrimitive(plan.from, plan.to, target, path)
        return
      case 'record':
        callRecord(plan, target, path)
        return
      case 'enum':
        readEnum(plan.symbols, plan.written, target, path)
        return
      case 'fixed':
        line(`if (e - p < ${plan.size}) throw misfit(${path}, TRUNCATED)`)
        line(`${target} = Buffer.from(b.subarray(p, p + ${plan.size})); p += ${plan.size}`)
        return
      case 'array': {
        const list = fresh('list')
        const length = fresh('length')
        line(`let ${list}, ${length} = 0`)
        blocks(plan.itemBytes, path, (count) => {
          // Assigning by index into a preallocated array is a third faster than push.
          line(`${list} ??= ${count} <= ${MAX_PREALLOCATED} ? new Array(${count}) : []`)
          line(`for (; ${count} > 0; ${count}--) {`)
          const item = fresh('item')
          line(`let ${item}`)
          read(plan.items, item, `${path} + '[' + ${length} + ']'`)
          line(`${list}[${length}++] = ${item} }`)
        })
        line(`${target} = ${list} ?? []`)
        return
      }
      case 'map': {
        const map = fresh('map')
        line(`const ${map} = { __proto__: null }; ${target} = ${map}`)
        blocks(plan.itemBytes, path, (count) => {
          line(`for (; ${count} > 0; ${count}--) {`)
          const key = fresh('key')
          const value = fresh('item')
          line(`let ${key}, ${value}`)
          readPrimitive('string', 'string', key, `${path} + '{key}'`)
          read(plan.values, value, `${path} + '{' + ${key} + '}'`)
          line(`${map}[${key}] = ${value} }`)
        })
        return
      }
      case 'branches': {
        const branch = fresh('branch')
        line(`let ${branch}`)
        readPrimitive('int', 'int', branch, path)
        line(`switch (${branch}) {`)
        plan.branches.forEach((each, index) => {
          line(`case ${index}: {`)
          read(each, target, path)
          line('break }')
        })
        line(`default: throw misfit(${path}, 'the union has no branch with index ' + ${branch} + ' (size: ${plan.branches.length})') }`)
        return
      }
      case 'wrap': {
        const inner = fresh('inner')
        line(`let ${inner}`)
        read(plan.plan, inner, path)
        line(`${target} = { ${literal(plan.name)}: ${inner} }`)
        return
      }
      case 'incompatible':
        line(`throw misfit(${extended(path, plan.path)}, ${literal(plan.reason)})`)
        return
    }
  }

  function readEnum(symbols: readonly (string | undefined)[], written: readonly string[], target: string, path: string): void {
    const index = fresh('symbol')
    line(`let ${index}`)
    readPrimitive('int', 'int', index, path)
    line(`switch (${index}) {`)
    symbols.forEach((symbol, at) => {
      if (symbol === undefined)
        line(`case ${at}: throw misfit(${path}, ${literal(`the enum of the reader has neither the symbol ${written[at]} nor a default`)})`)
      else line(`case ${at}: ${target} = ${literal(symbol)}; break`)
    })
    line(`default: throw misfit(${path}, 'the enum has no symbol with index ' + ${index} + ' (size: ${symbols.length})') }`)
  }

  /** Emits loops over the blocks of an array or map. */
  function blocks(itemBytes: number, path: string, readItems: (count: string) => void): void {
    const count = fresh('count')
    const until = fresh('until')
    line(`for (;;) { let ${count}`)
    line(`${count} = readBlockCount(b, p, e, ${itemBytes})`)
    line(`if (cursor.at < 0) throw misfit(${path}); p = cursor.at`)
    line(`if (${count} === 0) break`)
    line(`const ${until} = lastBlockEnd()`)
    readItems(count)
    line(`if (${until} >= 0 && p !== ${until}) throw misfit(${path}, 'a block does not have its declared size') }`)
  }

  function callRecord(plan: RecordPlan, target: string, path: string): void {
    const name = out.functionFor(plan, (declared) => writeRecord(declared, plan))
    if (path === "''") line(`${target} = ${name}(b, p, e, d + 1); p = cursor.at`)
    else line(`try { ${target} = ${name}(b, p, e, d + 1); p = cursor.at } catch (error) { throw withPath(${path}, error) }`)
  }

  function writeRecord(name: string, plan: RecordPlan): void {
    line(`function ${name}(b, p, e, d) {`)
    if (plan.failure !== undefined) {
      line(`throw misfit('', ${literal(messageOf(plan.failure))}) }`)
      return
    }
    if (isRecursive(plan.reader)) line(`if (d > ${MAX_DEPTH}) throw misfit('', 'records are nested deeper than ${MAX_DEPTH} levels')`)
    const variables = new Map(plan.reader.fields.map((field) => [field, fresh('field')]))
    if (variables.size > 0) line(`let ${[...variables.values()].join(', ')}`)
    for (const step of plan.steps) {
      if ('skip' in step) skip(step.skip, extended("''", `.${step.name}`))
      else read(step.read, variables.get(step.field) as string, extended("''", `.${step.field.name}`))
    }
    for (const field of plan.defaults) line(`${variables.get(field)} = ${defaultSource(field.type, field.default)}`)
    const properties = plan.reader.fields.map((field) => `${literal(field.name)}: ${variables.get(field)}`)
    line(`cursor.at = p; return { ${properties.join(', ')} } }`)
  }

  return read
}
