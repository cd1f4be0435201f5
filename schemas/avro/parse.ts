import type { AvroSchema } from '../topic.ts'
import { checkDefault } from './default.ts'
import { type AvroType, branchName, type Field, type PrimitiveKind, type RecordType } from './types.ts'

/** The schema itself is wrong: no decoder or encoder can be made of it. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

type Properties = { readonly [property: string]: unknown }

const PRIMITIVES = new Set<string>(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'])
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const FULL_NAME = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/
/** The logical type that turns a long into a BigInt. Unknown logical types are ignored, as Avro demands. */
const INT64 = 'int64'

const parsed = new WeakMap<object, AvroType>()

/** Checks a schema and resolves its names. Schemas that are objects are parsed once. */
export function parseSchema(schema: AvroSchema): AvroType {
  if (typeof schema === 'string') return parseAfresh(schema)
  const known = parsed.get(schema)
  if (known) return known
  const type = parseAfresh(schema)
  parsed.set(schema, type)
  return type
}

function parseAfresh(schema: AvroSchema): AvroType {
  const named = new Map<string, AvroType>()
  const defaults: { path: string; field: Field }[] = []
  const type = parse(schema, '', '')
  // Only now are all types complete, also those that a default of a recursive type needs.
  for (const { path, field } of defaults) {
    const reason = checkDefault(field.type, field.default)
    if (reason) throw new SchemaError(`${path}: the default ${JSON.stringify(field.default)} does not fit: ${reason}`)
  }
  return type

  function parse(from: unknown, namespace: string, path: string): AvroType {
    if (typeof from === 'string') return reference(from, namespace, path)
    if (Array.isArray(from)) return union(from, namespace, path)
    if (typeof from !== 'object' || from === null) throw new SchemaError(`${at(path)} is ${JSON.stringify(from)}, not a schema`)
    const properties = from as Properties
    switch (properties.type) {
      case 'record':
      case 'error':
        return record(properties, namespace, path)
      case 'enum':
        return enumeration(properties, namespace, path)
      case 'fixed':
        return fixed(properties, namespace, path)
      case 'array':
        return { kind: 'array', items: parse(properties.items, namespace, `${path}[]`) }
      case 'map':
        return { kind: 'map', values: parse(properties.values, namespace, `${path}{}`) }
      case 'long':
        return { kind: properties.logicalType === INT64 ? 'int64' : 'long' }
      default:
        return parse(properties.type, namespace, path)
    }
  }

  function reference(name: string, namespace: string, path: string): AvroType {
    if (PRIMITIVES.has(name)) return { kind: name as PrimitiveKind }
    const type = named.get(name.includes('.') || !namespace ? name : `${namespace}.${name}`) ?? named.get(name)
    if (!type) throw new SchemaError(`${at(path)} refers to the unknown type "${name}"`)
    return type
  }

  function union(from: readonly unknown[], namespace: string, path: string): AvroType {
    const branches = from.map((branch, index) => parse(branch, namespace, `${path}<${index}>`))
    if (branches.length === 0) throw new SchemaError(`${at(path)} is a union without branches`)
    const names = branches.map(branchName)
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice) throw new SchemaError(`${at(path)} is a union with two branches "${twice}"`)
    if (branches.some((branch) => branch.kind === 'union')) throw new SchemaError(`${at(path)} is a union directly inside a union`)
    const shapes = branches.map(javascriptShape)
    return { kind: 'union', branches, wrapped: new Set(shapes).size < shapes.length }
  }

  function record(from: Properties, outer: string, path: string): AvroType {
    const { name, aliases, namespace } = names(from, outer, path)
    const fields: Field[] = []
    const type: RecordType = { kind: 'record', name, aliases, doc: text(from.doc), fields }
    define(type, path)
    if (!Array.isArray(from.fields)) throw new SchemaError(`record ${name} has no fields array`)
    for (const each of from.fields as Properties[]) {
      const fieldPath = `${path || name}.${String(each?.name)}`
      if (typeof each?.name !== 'string' || !NAME.test(each.name)) throw new SchemaError(`${fieldPath} is no field name`)
      if (each.name === '__proto__') throw new SchemaError(`${fieldPath} cannot be a property of a plain object; rename the field`)
      if (fields.some((other) => other.name === each.name)) throw new SchemaError(`${fieldPath} is declared twice`)
      const field: Field = {
        name: each.name,
        aliases: Array.isArray(each.aliases) ? each.aliases.map(String) : [],
        type: parse(each.type, namespace, fieldPath),
        doc: text(each.doc),
        default: each.default,
      }
      fields.push(field)
      if (field.default !== undefined) defaults.push({ path: fieldPath, field })
    }
    return type
  }

  function enumeration(from: Properties, outer: string, path: string): AvroType {
    const { name, aliases } = names(from, outer, path)
    const symbols = Array.isArray(from.symbols) ? (from.symbols as unknown[]) : []
    if (symbols.length === 0) throw new SchemaError(`enum ${name} has no symbols`)
    for (const symbol of symbols) {
      if (typeof symbol !== 'string' || !NAME.test(symbol)) throw new SchemaError(`enum ${name}: ${JSON.stringify(symbol)} is no symbol`)
    }
    if (new Set(symbols).size < symbols.length) throw new SchemaError(`enum ${name} names a symbol twice`)
    if (from.default !== undefined && !symbols.includes(from.default)) {
      throw new SchemaError(`enum ${name}: the default ${JSON.stringify(from.default)} is not among the symbols`)
    }
    return define(
      { kind: 'enum', name, aliases, doc: text(from.doc), symbols: symbols as string[], default: from.default as string | undefined },
      path,
    )
  }

  function fixed(from: Properties, outer: string, path: string): AvroType {
    const { name, aliases } = names(from, outer, path)
    const size = from.size
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) throw new SchemaError(`fixed ${name} has no size in bytes`)
    return define({ kind: 'fixed', name, aliases, doc: text(from.doc), size }, path)
  }

  function define<T extends AvroType & { name: string }>(type: T, path: string): T {
    if (named.has(type.name)) throw new SchemaError(`${at(path)} defines ${type.name} a second time`)
    named.set(type.name, type)
    return type
  }
}

function names(from: Properties, outer: string, path: string): { name: string; aliases: string[]; namespace: string } {
  if (typeof from.name !== 'string' || !FULL_NAME.test(from.name)) {
    throw new SchemaError(`${at(path)}: ${JSON.stringify(from.name)} is no name for a type`)
  }
  const dot = from.name.lastIndexOf('.')
  const namespace = dot >= 0 ? from.name.slice(0, dot) : typeof from.namespace === 'string' ? from.namespace : outer
  const aliases = Array.isArray(from.aliases) ? from.aliases.map(String) : []
  return { name: qualify(from.name, namespace), aliases: aliases.map((alias) => qualify(alias, namespace)), namespace }
}

function qualify(name: string, namespace: string): string {
  return name.includes('.') || !namespace ? name : `${namespace}.${name}`
}

/** What `typeof` and its relatives can tell apart. */
function javascriptShape(type: AvroType): string {
  switch (type.kind) {
    case 'int':
    case 'long':
    case 'float':
    case 'double':
      return 'number'
    case 'int64':
      return 'bigint'
    case 'string':
    case 'enum':
      return 'string'
    case 'bytes':
    case 'fixed':
      return 'bytes'
    case 'map':
    case 'record':
      return 'object'
    default:
      return type.kind
  }
}

function text(doc: unknown): string | undefined {
  return typeof doc === 'string' ? doc : undefined
}

function at(path: string): string {
  return path === '' ? 'the schema' : path
}
