import { type ByteWriter, CodecError } from '../codec.ts'
import type { AvroSchema } from '../topic.ts'
import { defaultSource } from './default.ts'
import { parseSchema } from './parse.ts'
import { compileSource, extended, literal, MAX_DEPTH, Misfit, type SourceBuilder, sourceBuilder } from './source.ts'
import {
  type AvroType,
  branchName,
  type Field,
  isRecursive,
  type PrimitiveKind,
  type RecordType,
  type UnionType,
  unqualified,
} from './types.ts'

/**
 * Appends the encoded value.
 * @throws CodecError with the path of the invalid value; `out.length` is then unchanged
 */
export type Encode<T> = (value: T, out: ByteWriter) => void

/**
 * Function of generated code. Arguments: `p` the position to write at, `d` depth of nested records.
 * @returns the position after the value
 */
type RawEncode = (value: unknown, out: ByteWriter, p: number, d: number) => number

/**
 * Compiles an encoder for the values of a schema.
 * @throws SchemaError
 */
export function compileEncoder<T>(schema: AvroSchema): Encode<T> {
  const type = parseSchema(schema)
  const raw = generateEncoder(type)
  const root = 'name' in type ? unqualified(type.name) : type.kind
  return function encodeAvro(value, out) {
    const start = out.length
    try {
      out.length = raw(value, out, start, 0)
    } catch (error) {
      out.length = start
      throw error instanceof Misfit ? new CodecError(`${root}${error.path}: ${error.reason}`) : error
    }
  }
}

function generateEncoder(type: AvroType): RawEncode {
  const out = sourceBuilder()
  const generator = encoderGenerator(out)
  out.line('function root(value, out, p, d) { let b = out.buffer')
  generator.room(type)
  generator.write(type, 'value', "''")
  out.line('return p }')
  return compileSource(out)
}

/**
 * Returns functions that emit statements. The statements write to `b` at `p`. Paths are the source text of JavaScript
 * string expressions. These expressions are evaluated only on failure.
 */
function encoderGenerator(out: SourceBuilder) {
  const { line, fresh } = out

  /**
   * Emits code that reserves room for a value of bounded size. For other values, room is reserved while they are
   * written.
   */
  function room(type: AvroType): void {
    roomFor(boundedBytes(type) ?? 0)
  }

  function roomFor(bytes: number): void {
    if (bytes > 0) line(`if (p + ${bytes} > b.length) { makeRoom(out, p, ${bytes}); b = out.buffer }`)
  }

  /** Emits the code that writes a value. Room for values of bounded size must already be reserved. */
  function write(type: AvroType, value: string, path: string): void {
    switch (type.kind) {
      case 'array':
        line(`if (!Array.isArray(${value})) throw misfit(${path}, 'expected an array')`)
        writeItems(value, (each) => {
          room(type.items)
          write(type.items, `${value}[${each}]`, `${path} + '[' + ${each} + ']'`)
        })
        return
      case 'map': {
        const keys = fresh('keys')
        line(
          `if (typeof ${value} !== 'object' || ${value} === null || Array.isArray(${value})) throw misfit(${path}, 'expected an object')`,
        )
        line(`const ${keys} = Object.keys(${value})`)
        writeItems(keys, (each) => {
          const key = fresh('key')
          const item = fresh('item')
          line(`const ${key} = ${keys}[${each}], ${item} = ${value}[${key}]`)
          write({ kind: 'string' }, key, `${path} + '{key}'`)
          room(type.values)
          write(type.values, item, `${path} + '{' + ${key} + '}'`)
        })
        return
      }
      case 'record':
        callRecord(type, value, path)
        return
      case 'union':
        if (type.wrapped) writeWrapped(type, value, path)
        else writeUnwrapped(type, value, path)
        return
      case 'enum':
        line(`switch (${value}) {`)
        type.symbols.forEach((symbol, index) => {
          line(`case ${literal(symbol)}: ${varint(index)}; break`)
        })
        line(`default: throw misfit(${path}, ${literal(`expected one of ${type.symbols.join(', ')}`)}) }`)
        return
      case 'fixed':
        line(
          `if (!(${value} instanceof Uint8Array) || ${value}.length !== ${type.size}) throw misfit(${path}, 'expected ${type.size} bytes')`,
        )
        line(`b.set(${value}, p); p += ${type.size}`)
        return
      default:
        writePrimitive(type.kind, value, path)
        return
    }
  }

  function writePrimitive(kind: PrimitiveKind, value: string, path: string): void {
    switch (kind) {
      case 'null':
        line(`if (${value} !== null) throw misfit(${path}, 'expected null')`)
        return
      case 'boolean':
        line(`if (typeof ${value} !== 'boolean') throw misfit(${path}, 'expected a boolean')`)
        line(`b[p++] = ${value} ? 1 : 0`)
        return
      case 'int':
        line(`if (typeof ${value} !== 'number' || (${value} | 0) !== ${value}) throw misfit(${path}, 'expected a 32-bit integer')`)
        writeNumber(value)
        return
      case 'long':
        line(`if (!Number.isSafeInteger(${value})) throw misfit(${path}, 'expected an integer within ±(2^53-1)')`)
        writeNumber(value)
        return
      case 'int64':
        line(`if (typeof ${value} !== 'bigint') throw misfit(${path}, 'expected a bigint')`)
        line(`p = writeInt64(b, p, ${value}); if (p < 0) throw misfit(${path})`)
        return
      case 'float':
        line(`if (typeof ${value} !== 'number') throw misfit(${path}, 'expected a number')`)
        line(
          `if (Number.isFinite(${value}) && !Number.isFinite(Math.fround(${value}))) throw misfit(${path}, 'the number is outside the range of a float')`,
        )
        line(`p = writeFloat(b, p, ${value})`)
        return
      case 'double':
        line(`if (typeof ${value} !== 'number') throw misfit(${path}, 'expected a number')`)
        line(`p = writeDouble(b, p, ${value})`)
        return
      case 'bytes':
        line(`if (!(${value} instanceof Uint8Array)) throw misfit(${path}, 'expected a Uint8Array')`)
        line(`p = writeBytes(out, p, ${value}); b = out.buffer`)
        return
      case 'string':
        line(`if (typeof ${value} !== 'string') throw misfit(${path}, 'expected a string')`)
        line(`p = writeString(out, p, ${value}); if (p < 0) throw misfit(${path}); b = out.buffer`)
        return
    }
  }

  function writeNumber(value: string): void {
    line(`if (${value} >= -64 && ${value} < 64) b[p++] = (${value} << 1) ^ (${value} >> 31); else p = writeLong(b, p, ${value})`)
  }

  /**
   * Emits code that writes all items, if there are any, as one block, and then the empty block that ends the array or
   * map.
   */
  function writeItems(list: string, writeItem: (index: string) => void): void {
    const index = fresh('i')
    roomFor(MAX_VARINT + 1)
    line(`if (${list}.length > 0) { p = writeLong(b, p, ${list}.length)`)
    line(`for (let ${index} = 0; ${index} < ${list}.length; ${index}++) {`)
    writeItem(index)
    line('} }')
    roomFor(1)
    line('b[p++] = 0')
  }

  function writeUnwrapped(type: UnionType, value: string, path: string): void {
    roomFor(BRANCH_BYTES)
    type.branches.forEach((branch, index) => {
      line(`${index > 0 ? 'else ' : ''}if (${test(branch, value)}) {`)
      writeBranch(branch, index, value, path)
      line('}')
    })
    line(`else throw misfit(${path}, ${literal(`expected one of ${type.branches.map(branchName).join(', ')}`)})`)
  }

  function writeWrapped(type: UnionType, value: string, path: string): void {
    const nullBranch = type.branches.findIndex((branch) => branch.kind === 'null')
    const key = fresh('branch')
    const inner = fresh('inner')
    roomFor(BRANCH_BYTES)
    if (nullBranch >= 0) line(`if (${value} === null) { ${varint(nullBranch)} } else {`)
    line(`if (typeof ${value} !== 'object' || ${value} === null) throw misfit(${path}, 'expected an object { branch: value }')`)
    line(`const ${key} = Object.keys(${value}); if (${key}.length !== 1) throw misfit(${path}, 'expected an object with one branch')`)
    line(`const ${inner} = ${value}[${key}[0]]`)
    line(`switch (${key}[0]) {`)
    type.branches.forEach((branch, index) => {
      if (branch.kind === 'null') return
      line(`case ${literal(branchName(branch))}: {`)
      writeBranch(branch, index, inner, extended(path, `{${branchName(branch)}}`))
      line('break }')
    })
    line(`default: throw misfit(${path}, 'the union has no branch ' + ${key}[0]) }`)
    if (nullBranch >= 0) line('}')
  }

  function writeBranch(branch: AvroType, index: number, value: string, path: string): void {
    line(varint(index))
    room(branch)
    write(branch, value, path)
  }

  function callRecord(type: RecordType, value: string, path: string): void {
    const name = out.functionFor(type, (declared) => writeRecord(declared, type))
    const call = `p = ${name}(${value}, out, p, d + 1); b = out.buffer`
    line(path === "''" ? call : `try { ${call} } catch (error) { throw withPath(${path}, error) }`)
  }

  function writeRecord(name: string, type: RecordType): void {
    line(`function ${name}(value, out, p, d) { let b = out.buffer`)
    line(`if (typeof value !== 'object' || value === null) throw misfit('', 'expected an object')`)
    if (isRecursive(type)) line(`if (d > ${MAX_DEPTH}) throw misfit('', 'records are nested deeper than ${MAX_DEPTH} levels')`)
    type.fields.forEach((field, index) => {
      roomFor(runBytes(type.fields, index))
      const variable = fresh('field')
      const path = extended("''", `.${field.name}`)
      const absent =
        field.default === undefined
          ? `throw misfit(${path}, 'the field is missing and has no default')`
          : `${variable} = ${defaultSource(field.type, field.default)}`
      line(`let ${variable} = value[${literal(field.name)}]; if (${variable} === undefined) ${absent}`)
      write(field.type, variable, path)
    })
    line('return p }')
  }

  return { room, write }
}

/** Size of the longest varint in bytes. */
const MAX_VARINT = 10
/** Maximum size of the index of a union branch or enum symbol, in bytes. */
const BRANCH_BYTES = 5

/** Returns the source that writes a constant varint: a branch or symbol index. */
function varint(index: number): string {
  return index < 64 ? `b[p++] = ${index << 1}` : `p = writeLong(b, p, ${index})`
}

/**
 * Returns the maximum number of bytes of a type's values; undefined for types whose code reserves room itself. The code
 * that writes a value of any other type does not reserve room.
 */
function boundedBytes(type: AvroType): number | undefined {
  switch (type.kind) {
    case 'null':
      return 0
    case 'boolean':
      return 1
    case 'int':
    case 'enum':
      return 5
    case 'long':
    case 'int64':
      return MAX_VARINT
    case 'float':
      return 4
    case 'double':
      return 8
    case 'fixed':
      return type.size
    default:
      return undefined
  }
}

/**
 * Returns the maximum number of bytes of the consecutive bounded fields that begin at `start`; 0 if the field before
 * `start` is bounded as well. One reservation, at the first of these fields, covers all of them.
 */
function runBytes(fields: readonly Field[], start: number): number {
  const bounded = (index: number) => boundedBytes(fields[index].type)
  if (start > 0 && bounded(start - 1) !== undefined) return 0
  let bytes = 0
  for (let index = start; index < fields.length; index++) {
    const more = bounded(index)
    if (more === undefined) break
    bytes += more
  }
  return bytes
}

/** Returns the source of an expression that tests whether a value belongs to a branch of an unwrapped union. */
function test(branch: AvroType, value: string): string {
  switch (branch.kind) {
    case 'null':
      return `${value} === null`
    case 'boolean':
      return `typeof ${value} === 'boolean'`
    case 'int':
    case 'long':
    case 'float':
    case 'double':
      return `typeof ${value} === 'number'`
    case 'int64':
      return `typeof ${value} === 'bigint'`
    case 'string':
    case 'enum':
      return `typeof ${value} === 'string'`
    case 'bytes':
    case 'fixed':
      return `${value} instanceof Uint8Array`
    case 'array':
      return `Array.isArray(${value})`
    default:
      return `typeof ${value} === 'object' && ${value} !== null && !Array.isArray(${value}) && !(${value} instanceof Uint8Array)`
  }
}
