import { stableJson } from '../../../schemas/avro/json.ts'
import {
  type AvroType,
  branchName,
  type EnumType,
  type Field,
  type FixedType,
  type Properties,
  type RecordType,
  unqualified,
} from '../../../schemas/avro/types.ts'

/**
 * Returns the canonical text of a schema. It contains no white space outside strings. Attributes are in the order of
 * Avro's printer, with unknown attributes in alphabetical order. A namespace occurs only where it changes. Every named
 * type is written in full once, and by its name afterwards. Schemas with equal text have the same id. The text includes
 * documentation, aliases and defaults, because they change what a reader does or shows.
 */
export function canonicalText(type: AvroType): string {
  const defined = new Set<string>()

  function print(current: AvroType, namespace: string): string {
    switch (current.kind) {
      case 'union':
        return `[${current.branches.map((branch) => print(branch, namespace)).join(',')}]`
      case 'array':
        return object([['type', '"array"'], ['items', print(current.items, namespace)], ...properties(current.properties)])
      case 'map':
        return object([['type', '"map"'], ['values', print(current.values, namespace)], ...properties(current.properties)])
      case 'record':
      case 'enum':
      case 'fixed':
        return printNamed(current, namespace)
      default: {
        const name = JSON.stringify(branchName(current))
        const attributes = properties(current.properties)
        return attributes.length === 0 ? name : object([['type', name], ...attributes])
      }
    }
  }

  function printNamed(current: RecordType | EnumType | FixedType, enclosing: string): string {
    const name = unqualified(current.name)
    const namespace = namespaceOf(current.name)
    if (defined.has(current.name)) return JSON.stringify(namespace === enclosing ? name : current.name)
    defined.add(current.name)
    const type = current.kind === 'record' && current.isError ? 'error' : current.kind
    const head: Attribute[] = [
      ['type', JSON.stringify(type)],
      ['name', JSON.stringify(name)],
    ]
    if (namespace !== enclosing) head.push(['namespace', JSON.stringify(namespace)])
    if (current.doc !== undefined) head.push(['doc', JSON.stringify(current.doc)])
    const tail = properties(current.properties)
    if (current.aliases.length > 0) tail.push(['aliases', JSON.stringify(current.aliases)])
    return object([...head, ...body(current), ...tail])
  }

  function body(current: RecordType | EnumType | FixedType): Attribute[] {
    switch (current.kind) {
      case 'record':
        return [['fields', `[${current.fields.map((field) => printField(field, namespaceOf(current.name))).join(',')}]`]]
      case 'enum': {
        const symbols: Attribute = ['symbols', JSON.stringify(current.symbols)]
        return current.default === undefined ? [symbols] : [symbols, ['default', JSON.stringify(current.default)]]
      }
      case 'fixed':
        return [['size', String(current.size)]]
    }
  }

  function printField(field: Field, namespace: string): string {
    const attributes: Attribute[] = [
      ['name', JSON.stringify(field.name)],
      ['type', print(field.type, namespace)],
    ]
    if (field.doc !== undefined) attributes.push(['doc', JSON.stringify(field.doc)])
    if (field.default !== undefined) attributes.push(['default', stableJson(field.default)])
    if (field.order !== 'ascending') attributes.push(['order', JSON.stringify(field.order)])
    if (field.aliases.length > 0) attributes.push(['aliases', JSON.stringify(field.aliases)])
    return object([...attributes, ...properties(field.properties)])
  }

  return print(type, '')
}

/** Name of an attribute, and its value as JSON text. */
type Attribute = [name: string, json: string]

function object(attributes: readonly Attribute[]): string {
  return `{${attributes.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

function properties(values: Properties = {}): Attribute[] {
  return Object.keys(values)
    .sort()
    .map((key) => [key, stableJson(values[key])])
}

function namespaceOf(fullName: string): string {
  return fullName.slice(0, Math.max(0, fullName.lastIndexOf('.')))
}
