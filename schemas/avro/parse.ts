import type { AvroSchema } from '../topic.ts'
import { checkDefault, type DefaultBudget } from './default.ts'
import { parseJson } from './json.ts'
import {
  type AvroType,
  branchName,
  type EnumType,
  FIELD_ORDERS,
  type Field,
  type FixedType,
  PRIMITIVES,
  type PrimitiveKind,
  type Properties,
  type RecordType,
  SchemaError,
} from './types.ts'

/**
 * A legal name. Avro's specification allows only ASCII letters, but its Java implementation, and therefore Confluent's
 * registry, also accepts other letters.
 */
const NAME = /^[\p{L}_][\p{L}\p{Nd}_]*$/u
/**
 * Maximum depth of types. Deeper schemas are mistakes or attacks. The limit stops the recursive parser before the stack
 * overflows.
 */
const MAX_DEPTH = 200
/**
 * Maximum depth of JSON. A level of types takes up to three levels of JSON: a record, its list of fields, and a field.
 * The limit is checked before anything else, because defaults and unknown attributes are also processed recursively.
 */
const MAX_JSON_DEPTH = 1_000
/** The logical type that turns a long into a BigInt. Unknown logical types are ignored, as Avro requires. */
const INT64 = 'int64'

const NAMED_ATTRIBUTES = ['type', 'name', 'namespace', 'doc', 'aliases']
const RECORD_ATTRIBUTES = [...NAMED_ATTRIBUTES, 'fields']
const FIELD_ATTRIBUTES = ['name', 'type', 'doc', 'default', 'order', 'aliases']

const parsed = new WeakMap<object, AvroType>()

/**
 * Validates a schema and resolves its names. Each schema object is parsed only once.
 * @throws SchemaError
 */
export function parseSchema(schema: AvroSchema): AvroType {
  if (typeof schema === 'string') return parseAfresh(schema)
  const known = parsed.get(schema)
  if (known) return known
  const type = parseAfresh(schema)
  parsed.set(schema, type)
  return type
}

/**
 * Parses the schema of a writer, whose defaults are not checked. Only the defaults of the reader's schema are used, and
 * most registries accept defaults that do not fit their type, such as null for a string.
 * @throws SchemaError
 */
export function parseWriterSchema(schema: AvroSchema): AvroType {
  return parseAfresh(schema, false)
}

/**
 * Parses the text of a schema and validates it as `parseSchema` does. Keeps defaults of longs exact.
 * @throws SchemaError
 */
export function parseSchemaText(text: string): AvroType {
  // A bare type name is a valid schema, and some clients send it without quotes.
  if (PRIMITIVES.has(text.trim())) return parseSchema(text.trim())
  let json: unknown
  try {
    json = parseJson(text)
  } catch (error) {
    throw new SchemaError(`the schema is not JSON: ${(error as Error).message}`)
  }
  return parseSchema(json as AvroSchema)
}

function parseAfresh(schema: AvroSchema, checksDefaults = true): AvroType {
  const named = new Map<string, AvroType>()
  const defaults: { what: string; field: Field }[] = []
  let depth = 0
  checkJsonDepth(schema)
  const type = parse(schema, '', 'the schema')
  // Defaults are checked last, because the default of a recursive type can be checked only when all types are complete.
  const budget: DefaultBudget = { values: 0 }
  for (const { what, field } of defaults) {
    const reason = checkDefault(field.type, field.default, budget)
    if (reason) throw new SchemaError(`${what}: default ${JSON.stringify(field.default)} does not fit its type: ${reason}`)
  }
  return type

  function parse(from: unknown, namespace: string, what: string): AvroType {
    if (++depth > MAX_DEPTH) throw new SchemaError(`the types of the schema are nested deeper than ${MAX_DEPTH} levels`)
    const result = typeOf(from, namespace, what)
    depth--
    return result
  }

  function typeOf(from: unknown, namespace: string, what: string): AvroType {
    if (typeof from === 'string') return reference(from, namespace, what)
    if (Array.isArray(from)) return union(from, namespace, what)
    if (typeof from !== 'object' || from === null) throw new SchemaError(`${what}: ${JSON.stringify(from)} is not a schema`)
    const object = from as Properties
    switch (object.type) {
      case 'record':
      case 'error':
        return record(object, namespace)
      case 'enum':
        return enumeration(object, namespace)
      case 'fixed':
        return fixed(object, namespace)
      case 'array': {
        const items = parse(required(object, 'items', 'an array'), namespace, `${what}[]`)
        return { kind: 'array', items, properties: unknownAttributes(object, ['type', 'items']) }
      }
      case 'map': {
        const values = parse(required(object, 'values', 'a map'), namespace, `${what}{}`)
        return { kind: 'map', values, properties: unknownAttributes(object, ['type', 'values']) }
      }
      default:
        if (typeof object.type !== 'string') return parse(required(object, 'type', what), namespace, what)
        if (!PRIMITIVES.has(object.type)) return reference(object.type, namespace, what)
        return {
          kind: object.type === 'long' && object.logicalType === INT64 ? INT64 : (object.type as PrimitiveKind),
          properties: unknownAttributes(object, ['type']),
        }
    }
  }

  function reference(name: string, namespace: string, what: string): AvroType {
    if (PRIMITIVES.has(name)) return { kind: name as PrimitiveKind }
    const type = named.get(qualify(name, namespace)) ?? named.get(name)
    if (!type) throw new SchemaError(`${what} refers to the unknown type "${qualify(name, namespace)}"`)
    return type
  }

  function union(from: readonly unknown[], namespace: string, what: string): AvroType {
    const branches = from.map((branch, index) => parse(branch, namespace, `${what}<${index}>`))
    if (branches.length === 0) throw new SchemaError(`${what} is a union without branches`)
    if (branches.some((branch) => branch.kind === 'union')) throw new SchemaError(`${what} is a union that directly contains another union`)
    const twice = repeated(branches.map(branchName))
    if (twice) throw new SchemaError(`${what} is a union that contains "${twice}" twice`)
    return { kind: 'union', branches, wrapped: repeated(branches.map(javascriptShape)) !== undefined }
  }

  function record(from: Properties, outer: string): AvroType {
    const { namespace, ...head } = namesOf(from, outer)
    const fields: Field[] = []
    const isError = from.type === 'error'
    const type: RecordType = { kind: 'record', isError, ...head, properties: unknownAttributes(from, RECORD_ATTRIBUTES), fields }
    define(type)
    const what = `record "${type.name}"`
    const list = required(from, 'fields', what)
    if (!Array.isArray(list)) throw new SchemaError(`"fields" of ${what} is not a list`)
    for (const json of list) fields.push(fieldOf(json, type.name, namespace))
    const twice = repeated(fields.map(({ name }) => name))
    if (twice) throw new SchemaError(`${what} has two fields named "${twice}"`)
    return type
  }

  function fieldOf(json: unknown, record: string, namespace: string): Field {
    if (json === null || typeof json !== 'object') throw new SchemaError(`a field of record "${record}" is not an object`)
    const from = json as Properties
    const name = simpleName(from.name, `a field of record "${record}"`)
    const what = `field "${record}.${name}"`
    if (name === '__proto__') throw new SchemaError(`${what} cannot be a property of a plain object; rename the field`)
    const order = (from.order ?? 'ascending') as Field['order']
    if (!FIELD_ORDERS.includes(order)) throw new SchemaError(`${what}: ${JSON.stringify(order)} is not a valid order`)
    const field: Field = {
      name,
      aliases: stringList(from.aliases, `aliases of ${what}`),
      type: parse(required(from, 'type', what), namespace, what),
      doc: docOf(from),
      default: from.default,
      order,
      properties: unknownAttributes(from, FIELD_ATTRIBUTES),
    }
    if (checksDefaults && field.default !== undefined) defaults.push({ what, field })
    return field
  }

  function enumeration(from: Properties, outer: string): AvroType {
    const { namespace: _, ...head } = namesOf(from, outer)
    const what = `enum "${head.name}"`
    const symbols = stringList(required(from, 'symbols', what), `symbols of ${what}`)
    if (symbols.length === 0) throw new SchemaError(`${what} has no symbols`)
    for (const symbol of symbols) simpleName(symbol, `a symbol of ${what}`)
    if (repeated(symbols)) throw new SchemaError(`${what} contains a symbol twice`)
    const fallback = from.default as string | undefined
    if (fallback !== undefined && !symbols.includes(fallback)) {
      throw new SchemaError(`default ${JSON.stringify(fallback)} of ${what} is not one of its symbols`)
    }
    const properties = unknownAttributes(from, [...NAMED_ATTRIBUTES, 'symbols', 'default'])
    return define<EnumType>({ kind: 'enum', ...head, properties, symbols, default: fallback })
  }

  function fixed(from: Properties, outer: string): AvroType {
    const { namespace: _, ...head } = namesOf(from, outer)
    const size = from.size
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
      throw new SchemaError(`size of fixed "${head.name}" is not a whole number of bytes`)
    }
    return define<FixedType>({ kind: 'fixed', ...head, properties: unknownAttributes(from, [...NAMED_ATTRIBUTES, 'size']), size })
  }

  function define<T extends RecordType | EnumType | FixedType>(type: T): T {
    if (named.has(type.name)) throw new SchemaError(`"${type.name}" is defined twice`)
    named.set(type.name, type)
    return type
  }
}

/** Checks the depth of JSON level by level instead of recursively, so that no depth overflows the stack. */
function checkJsonDepth(schema: unknown): void {
  let level = [schema]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH) throw new SchemaError(`the JSON of the schema is nested deeper than ${MAX_JSON_DEPTH} levels`)
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
}

/**
 * Returns the names of a type. A dotted name contains its namespace. For any other name, the namespace attribute
 * applies or, without it, the namespace of the enclosing type. As in Java, a namespace may contain any characters:
 * producers write `com.my-shop` and `com.acme.Outer$`.
 */
function namesOf(from: Properties, outer: string) {
  const what = `a ${String(from.type)}`
  if (typeof from.name !== 'string') throw new SchemaError(`${what} without a name`)
  const dot = from.name.lastIndexOf('.')
  const namespace = dot >= 0 ? from.name.slice(0, dot) : typeof from.namespace === 'string' ? from.namespace : outer
  const name = simpleName(from.name.slice(dot + 1), what)
  if (PRIMITIVES.has(name) && namespace === '')
    throw new SchemaError(`"${name}" is the name of a primitive type, so a type of this name needs a namespace`)
  const aliases = stringList(from.aliases, `aliases of "${name}"`).map((alias) => qualify(alias, namespace))
  return { name: qualify(name, namespace), aliases, namespace, doc: docOf(from) }
}

function qualify(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`
}

function simpleName(name: unknown, what: string): string {
  if (typeof name !== 'string' || !NAME.test(name)) throw new SchemaError(`${what}: ${JSON.stringify(name)} is not a legal name`)
  return name
}

function stringList(value: unknown, what: string): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) throw new SchemaError(`${what} are not a list of names`)
  return value
}

function required(object: Properties, attribute: string, what: string): unknown {
  const value = object[attribute]
  if (value === undefined) throw new SchemaError(`${what} without "${attribute}"`)
  return value
}

function unknownAttributes(object: Properties, known: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !known.includes(key)))
}

function docOf(object: Properties): string | undefined {
  return typeof object.doc === 'string' ? object.doc : undefined
}

function repeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>()
  return names.find((name) => seen.size === seen.add(name).size)
}

/** Returns the kind of a type's values, as far as `typeof` and similar tests can distinguish them. */
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
