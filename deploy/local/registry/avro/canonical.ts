import { stableJson } from './json.ts'
import { type AvroNode, type FieldNode, fullName, type NamedNode, type Properties } from './schema.ts'

/**
 * One text for all ways to write a schema: no white space, attributes in the order of Avro's own printer, unknown ones
 * sorted, a namespace only where it changes, every named type in full once and by name afterwards. Schemas with equal text
 * have the same id. Documentation, aliases and defaults are part of it: they change what a reader does or shows.
 */
export function canonicalText(node: AvroNode): string {
  const defined = new Set<string>()

  function print(current: AvroNode, namespace: string): string {
    switch (current.kind) {
      case 'primitive':
        return hasAny(current.properties)
          ? object([['type', JSON.stringify(current.name)], ...properties(current.properties)])
          : JSON.stringify(current.name)
      case 'union':
        return `[${current.branches.map((branch) => print(branch, namespace)).join(',')}]`
      case 'array':
        return object([['type', '"array"'], ['items', print(current.items, namespace)], ...properties(current.properties)])
      case 'map':
        return object([['type', '"map"'], ['values', print(current.values, namespace)], ...properties(current.properties)])
      default:
        return printNamed(current, namespace)
    }
  }

  function printNamed(current: NamedNode, enclosing: string): string {
    const full = fullName(current)
    if (defined.has(full)) return JSON.stringify(current.namespace === enclosing ? current.name : full)
    defined.add(full)
    const type = current.kind === 'record' && current.isError ? 'error' : current.kind
    const head: Attribute[] = [
      ['type', JSON.stringify(type)],
      ['name', JSON.stringify(current.name)],
    ]
    if (current.namespace !== enclosing) head.push(['namespace', JSON.stringify(current.namespace)])
    if (current.doc !== undefined) head.push(['doc', JSON.stringify(current.doc)])
    const tail = properties(current.properties)
    if (current.aliases.length > 0) tail.push(['aliases', JSON.stringify(current.aliases)])
    return object([...head, ...body(current), ...tail])
  }

  function body(current: NamedNode): Attribute[] {
    switch (current.kind) {
      case 'record':
        return [['fields', `[${current.fields.map((field) => printField(field, current.namespace)).join(',')}]`]]
      case 'enum': {
        const symbols: Attribute = ['symbols', JSON.stringify(current.symbols)]
        return current.default === undefined ? [symbols] : [symbols, ['default', JSON.stringify(current.default)]]
      }
      case 'fixed':
        return [['size', String(current.size)]]
    }
  }

  function printField(field: FieldNode, namespace: string): string {
    const attributes: Attribute[] = [
      ['name', JSON.stringify(field.name)],
      ['type', print(field.type, namespace)],
    ]
    if (field.doc !== undefined) attributes.push(['doc', JSON.stringify(field.doc)])
    if (field.hasDefault) attributes.push(['default', stableJson(field.default)])
    if (field.order !== 'ascending') attributes.push(['order', JSON.stringify(field.order)])
    if (field.aliases.length > 0) attributes.push(['aliases', JSON.stringify(field.aliases)])
    return object([...attributes, ...properties(field.properties)])
  }

  return print(node, '')
}

/** Name and JSON text. */
type Attribute = [name: string, json: string]

function object(attributes: readonly Attribute[]): string {
  return `{${attributes.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

function properties(values: Properties): Attribute[] {
  return Object.keys(values)
    .sort()
    .map((key) => [key, stableJson(values[key])])
}

function hasAny(values: Properties): boolean {
  return Object.keys(values).length > 0
}
