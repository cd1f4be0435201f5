import { isValidDefault } from './default.ts'
import { parseJson } from './json.ts'
import { type AvroNode, type FieldNode, fullName, type NamedNode, PRIMITIVES, type PrimitiveName, type Properties } from './schema.ts'

/** The text is not an Avro schema; the message says where and why. */
export class InvalidSchemaError extends Error {
  override readonly name = 'InvalidSchemaError'
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Deeper schemas are mistakes or attacks; the recursion below must end before the stack does. */
const MAX_DEPTH = 200

const TYPE_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  record: ['type', 'name', 'namespace', 'doc', 'aliases', 'fields'],
  error: ['type', 'name', 'namespace', 'doc', 'aliases', 'fields'],
  enum: ['type', 'name', 'namespace', 'doc', 'aliases', 'symbols', 'default'],
  fixed: ['type', 'name', 'namespace', 'doc', 'aliases', 'size'],
  array: ['type', 'items'],
  map: ['type', 'values'],
}
const FIELD_ATTRIBUTES = ['name', 'type', 'doc', 'default', 'order', 'aliases']
const ORDERS = ['ascending', 'descending', 'ignore'] as const

type JsonObject = Readonly<Record<string, unknown>>

/** Reads a schema by the rules of the Avro specification, names and defaults included. Throws InvalidSchemaError. */
export function parseSchema(text: string): AvroNode {
  let json: unknown
  try {
    json = parseJson(text)
  } catch (error) {
    // A bare type name is a schema too, and clients do send it without quotes.
    if (PRIMITIVES.has(text.trim())) json = text.trim()
    else throw new InvalidSchemaError(`not JSON: ${(error as Error).message}`)
  }
  return schemaParser().parse(json, '', 0)
}

function schemaParser() {
  const named = new Map<string, NamedNode>()

  function parse(json: unknown, namespace: string, depth: number): AvroNode {
    if (depth > MAX_DEPTH) throw new InvalidSchemaError(`nested deeper than ${MAX_DEPTH} types`)
    if (typeof json === 'string') return reference(json, namespace)
    if (Array.isArray(json)) return union(json, namespace, depth)
    if (json === null || typeof json !== 'object') throw new InvalidSchemaError(`${JSON.stringify(json)} is not a schema`)
    const object = json as JsonObject
    const type = object.type
    if (typeof type !== 'string') {
      if (type === undefined) throw new InvalidSchemaError(`no "type" in ${JSON.stringify(json)}`)
      return parse(type, namespace, depth + 1)
    }
    const properties = unknownAttributes(object, TYPE_ATTRIBUTES[type] ?? ['type'])
    switch (type) {
      case 'array':
        return { kind: 'array', items: parse(required(object, 'items', 'an array'), namespace, depth + 1), properties }
      case 'map':
        return { kind: 'map', values: parse(required(object, 'values', 'a map'), namespace, depth + 1), properties }
      case 'record':
      case 'error':
        return record(object, namespace, properties, depth)
      case 'enum':
        return enumeration(object, namespace, properties)
      case 'fixed':
        return fixed(object, namespace, properties)
      default: {
        const node = reference(type, namespace)
        return node.kind === 'primitive' ? { ...node, properties } : node
      }
    }
  }

  function reference(name: string, namespace: string): AvroNode {
    if (PRIMITIVES.has(name)) return { kind: 'primitive', name: name as PrimitiveName, properties: {} }
    const full = name.includes('.') || namespace === '' ? name : `${namespace}.${name}`
    const node = named.get(full)
    if (!node) throw new InvalidSchemaError(`unknown type "${full}"`)
    return node
  }

  function union(json: readonly unknown[], namespace: string, depth: number): AvroNode {
    const branches = json.map((branch) => parse(branch, namespace, depth + 1))
    const seen = new Set<string>()
    for (const branch of branches) {
      if (branch.kind === 'union') throw new InvalidSchemaError('a union directly inside a union')
      const key = branch.kind === 'primitive' ? branch.name : 'namespace' in branch ? fullName(branch) : branch.kind
      if (seen.has(key)) throw new InvalidSchemaError(`"${key}" twice in a union`)
      seen.add(key)
    }
    return { kind: 'union', branches }
  }

  function define<N extends NamedNode>(node: N): N {
    const full = fullName(node)
    if (named.has(full)) throw new InvalidSchemaError(`"${full}" is defined twice`)
    named.set(full, node)
    return node
  }

  function record(object: JsonObject, enclosing: string, properties: Properties, depth: number): AvroNode {
    const names = namesOf(object, enclosing)
    const node = define({ kind: 'record', isError: object.type === 'error', ...names, properties, fields: [] as FieldNode[] })
    const fields = required(object, 'fields', `record "${fullName(node)}"`)
    if (!Array.isArray(fields)) throw new InvalidSchemaError(`"fields" of record "${fullName(node)}" is not a list`)
    const seen = new Set<string>()
    for (const json of fields) {
      const field = parseField(json, fullName(node), names.namespace, depth)
      if (seen.has(field.name)) throw new InvalidSchemaError(`field "${field.name}" twice in record "${fullName(node)}"`)
      seen.add(field.name)
      node.fields.push(field)
    }
    return node
  }

  function parseField(json: unknown, record: string, namespace: string, depth: number): FieldNode {
    if (json === null || typeof json !== 'object') throw new InvalidSchemaError(`a field of record "${record}" is not an object`)
    const object = json as JsonObject
    const name = simpleName(object.name, `a field of record "${record}"`)
    const type = parse(required(object, 'type', `field "${record}.${name}"`), namespace, depth + 1)
    const order = (object.order ?? 'ascending') as FieldNode['order']
    if (!ORDERS.includes(order)) throw new InvalidSchemaError(`field "${record}.${name}": order ${JSON.stringify(order)}`)
    const hasDefault = Object.hasOwn(object, 'default')
    if (hasDefault && !isValidDefault(type, object.default)) {
      throw new InvalidSchemaError(`field "${record}.${name}": default ${JSON.stringify(object.default)} does not fit its type`)
    }
    return {
      name,
      type,
      doc: docOf(object),
      hasDefault,
      default: object.default,
      order,
      aliases: stringList(object.aliases, `aliases of field "${record}.${name}"`),
      properties: unknownAttributes(object, FIELD_ATTRIBUTES),
    }
  }

  function enumeration(object: JsonObject, enclosing: string, properties: Properties): AvroNode {
    const names = namesOf(object, enclosing)
    const what = `enum "${fullName(names)}"`
    const symbols = stringList(required(object, 'symbols', what), `symbols of ${what}`)
    for (const symbol of symbols) simpleName(symbol, `a symbol of ${what}`)
    if (new Set(symbols).size !== symbols.length) throw new InvalidSchemaError(`a symbol twice in ${what}`)
    const fallback = object.default as string | undefined
    if (fallback !== undefined && !symbols.includes(fallback)) {
      throw new InvalidSchemaError(`default ${JSON.stringify(fallback)} of ${what} is not one of its symbols`)
    }
    return define({ kind: 'enum', ...names, properties, symbols, default: fallback })
  }

  function fixed(object: JsonObject, enclosing: string, properties: Properties): AvroNode {
    const names = namesOf(object, enclosing)
    const size = object.size
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 0) {
      throw new InvalidSchemaError(`size of fixed "${fullName(names)}" is not a whole number of bytes`)
    }
    return define({ kind: 'fixed', ...names, properties, size })
  }

  return { parse }
}

/** A dotted name carries its namespace; else the attribute; else the enclosing type's. */
function namesOf(object: JsonObject, enclosing: string) {
  if (typeof object.name !== 'string') throw new InvalidSchemaError(`a ${String(object.type)} without a name`)
  const dot = object.name.lastIndexOf('.')
  const namespace = dot >= 0 ? object.name.slice(0, dot) : typeof object.namespace === 'string' ? object.namespace : enclosing
  const name = simpleName(object.name.slice(dot + 1), `a ${String(object.type)}`)
  if (PRIMITIVES.has(name) && namespace === '') throw new InvalidSchemaError(`"${name}" is a type of Avro itself`)
  if (namespace !== '') for (const part of namespace.split('.')) simpleName(part, `namespace "${namespace}"`)
  const aliases = stringList(object.aliases, `aliases of "${name}"`).map((alias) =>
    alias.includes('.') || namespace === '' ? alias : `${namespace}.${alias}`,
  )
  return { name, namespace, aliases, doc: docOf(object) }
}

function simpleName(name: unknown, what: string): string {
  if (typeof name !== 'string' || !NAME.test(name)) throw new InvalidSchemaError(`${what}: ${JSON.stringify(name)} is not a legal name`)
  return name
}

function stringList(value: unknown, what: string): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string'))
    throw new InvalidSchemaError(`${what} are not a list of names`)
  return value
}

function docOf(object: JsonObject): string | undefined {
  return typeof object.doc === 'string' ? object.doc : undefined
}

function required(object: JsonObject, attribute: string, what: string): unknown {
  const value = object[attribute]
  if (value === undefined) throw new InvalidSchemaError(`${what} without "${attribute}"`)
  return value
}

function unknownAttributes(object: JsonObject, known: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !known.includes(key)))
}
