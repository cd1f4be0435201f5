/** The schema itself is wrong: the message says where and why. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** A parsed Avro schema: names resolved, so that recursive types are cycles of objects. */
export type AvroType = PrimitiveType | RecordType | EnumType | FixedType | ArrayType | MapType | UnionType

/** `int64` is a long with `"logicalType": "int64"`: the same bytes, but BigInt in JavaScript, exact over all 64 bits. */
export type PrimitiveKind = 'null' | 'boolean' | 'int' | 'long' | 'int64' | 'float' | 'double' | 'bytes' | 'string'

/** The types that a schema names without defining them. */
export const PRIMITIVES: ReadonlySet<string> = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'])

/** Attributes by name. */
export type Properties = Readonly<Record<string, unknown>>

interface Annotated {
  /** Attributes that Avro does not know, and logical types: part of the schema's identity. */
  readonly properties?: Properties
}

export interface PrimitiveType extends Annotated {
  readonly kind: PrimitiveKind
}

interface NamedType extends Annotated {
  /** Full name: namespace and name, dotted. */
  readonly name: string
  /** Full names. */
  readonly aliases: readonly string[]
  readonly doc?: string
}

export interface RecordType extends NamedType {
  readonly kind: 'record'
  /** Declared as `error`, which is read and written like a record. */
  readonly isError: boolean
  readonly fields: readonly Field[]
}

export const FIELD_ORDERS = ['ascending', 'descending', 'ignore'] as const

export interface Field extends Annotated {
  readonly name: string
  readonly aliases: readonly string[]
  readonly type: AvroType
  readonly doc?: string
  /** As JSON, in the form that Avro prescribes; undefined when there is none. */
  readonly default: unknown
  readonly order: (typeof FIELD_ORDERS)[number]
}

export interface EnumType extends NamedType {
  readonly kind: 'enum'
  readonly symbols: readonly string[]
  /** The symbol that a reader takes for one it does not know. */
  readonly default: string | undefined
}

export interface FixedType extends NamedType {
  readonly kind: 'fixed'
  readonly size: number
}

export interface ArrayType extends Annotated {
  readonly kind: 'array'
  readonly items: AvroType
}

export interface MapType extends Annotated {
  readonly kind: 'map'
  readonly values: AvroType
}

/**
 * Values are the branch's own (`string | null`) when JavaScript can tell the branches apart, else wrapped as in Avro's
 * JSON form: `{ "branch name": value }`, null staying null.
 */
export interface UnionType {
  readonly kind: 'union'
  readonly branches: readonly AvroType[]
  readonly wrapped: boolean
}

/** What a branch is called in a wrapped union. */
export function branchName(type: AvroType): string {
  if ('name' in type) return type.name
  return type.kind === 'int64' ? 'long' : type.kind
}

/** The name without its namespace. */
export function unqualified(fullName: string): string {
  return fullName.slice(fullName.lastIndexOf('.') + 1)
}

/** The record types that contain themselves, directly or through others: decoding them needs a depth limit. */
export function isRecursive(record: RecordType): boolean {
  const seen = new Set<AvroType>()
  function reaches(type: AvroType): boolean {
    if (type === record) return true
    if (seen.has(type)) return false
    seen.add(type)
    return children(type).some(reaches)
  }
  return children(record).some(reaches)
}

function children(type: AvroType): readonly AvroType[] {
  switch (type.kind) {
    case 'record':
      return type.fields.map((field) => field.type)
    case 'array':
      return [type.items]
    case 'map':
      return [type.values]
    case 'union':
      return type.branches
    default:
      return []
  }
}

/** Fewest bytes that a value takes: what makes a hostile block count visible before anything is allocated. */
export function minimumBytes(type: AvroType): number {
  const open = new Set<AvroType>()
  function minimum(of: AvroType): number {
    switch (of.kind) {
      case 'null':
        return 0
      case 'float':
        return 4
      case 'double':
        return 8
      case 'fixed':
        return of.size
      case 'union':
        return 1 + Math.min(...of.branches.map(minimum))
      case 'record': {
        // A record inside itself: 0 is a lower bound, which is all that is needed.
        if (open.has(of)) return 0
        open.add(of)
        const sum = of.fields.reduce((bytes, field) => bytes + minimum(field.type), 0)
        open.delete(of)
        return sum
      }
      default:
        return 1
    }
  }
  return minimum(type)
}
