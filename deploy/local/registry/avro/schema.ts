/** An Avro schema with its names resolved: what the compatibility rules and the canonical text are computed from. */
export type AvroNode = PrimitiveNode | ArrayNode | MapNode | UnionNode | NamedNode
export type NamedNode = RecordNode | EnumNode | FixedNode

export type PrimitiveName = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string'

/** Attributes that Avro does not know, such as logicalType; kept, sorted, part of the schema's identity. */
export type Properties = Readonly<Record<string, unknown>>

export interface PrimitiveNode {
  readonly kind: 'primitive'
  readonly name: PrimitiveName
  readonly properties: Properties
}
export interface ArrayNode {
  readonly kind: 'array'
  readonly items: AvroNode
  readonly properties: Properties
}
export interface MapNode {
  readonly kind: 'map'
  readonly values: AvroNode
  readonly properties: Properties
}
export interface UnionNode {
  readonly kind: 'union'
  readonly branches: readonly AvroNode[]
}
interface Named {
  readonly name: string
  readonly namespace: string
  /** Full names. */
  readonly aliases: readonly string[]
  readonly doc: string | undefined
  readonly properties: Properties
}
export interface RecordNode extends Named {
  readonly kind: 'record'
  readonly isError: boolean
  /** Filled while the record is parsed: a field may refer to the record itself. */
  readonly fields: FieldNode[]
}
export interface EnumNode extends Named {
  readonly kind: 'enum'
  readonly symbols: readonly string[]
  /** The symbol that a reader takes for one it does not know. */
  readonly default: string | undefined
}
export interface FixedNode extends Named {
  readonly kind: 'fixed'
  readonly size: number
}
export interface FieldNode {
  readonly name: string
  readonly type: AvroNode
  readonly doc: string | undefined
  readonly hasDefault: boolean
  readonly default: unknown
  readonly order: 'ascending' | 'descending' | 'ignore'
  readonly aliases: readonly string[]
  readonly properties: Properties
}

export const PRIMITIVES: ReadonlySet<string> = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'])

/** `namespace.name`, or the name alone. */
export function fullName(node: { readonly name: string; readonly namespace: string }): string {
  return node.namespace === '' ? node.name : `${node.namespace}.${node.name}`
}

/** How a message names a type: `long`, `array`, `record com.acme.Order`. */
export function describeNode(node: AvroNode): string {
  if (node.kind === 'primitive') return node.name
  if (node.kind === 'array' || node.kind === 'map' || node.kind === 'union') return node.kind
  return `${node.kind} ${fullName(node)}`
}
