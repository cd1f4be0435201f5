/** Thrown for an invalid schema. The message gives the reason and, where possible, names the type or field. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** A parsed Avro schema with resolved names. Recursive types are cycles of objects. */
export type AvroType = PrimitiveType | RecordType | EnumType | FixedType | ArrayType | MapType | UnionType

/**
 * `int64` is a long with `"logicalType": "int64"`. It has the same encoding but is a BigInt in JavaScript, exact over
 * all 64 bits.
 */
export type PrimitiveKind = 'null' | 'boolean' | 'int' | 'long' | 'int64' | 'float' | 'double' | 'bytes' | 'string'

/** The types that a schema can use without defining them. */
export const PRIMITIVES: ReadonlySet<string> = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'])

/** Attributes by name. */
export type Properties = Readonly<Record<string, unknown>>

interface Annotated {
  /** Logical types, and attributes that Avro does not define. Both are part of the schema's identity. */
  readonly properties?: Properties
}

export interface PrimitiveType extends Annotated {
  readonly kind: PrimitiveKind
}

interface NamedType extends Annotated {
  /** The full name: namespace and name, separated by a dot. */
  readonly name: string
  /** Aliases as full names. */
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
  /** The default as JSON, in the form that Avro prescribes; undefined when there is none. */
  readonly default: unknown
  readonly order: (typeof FIELD_ORDERS)[number]
}

export interface EnumType extends NamedType {
  readonly kind: 'enum'
  readonly symbols: readonly string[]
  /** The symbol that a reader uses in place of an unknown one. */
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
 * Values have the type of their branch (`string | null`) if JavaScript can distinguish the branches. Otherwise they
 * are wrapped as in Avro's JSON encoding, `{ "branch name": value }`, except for null.
 */
export interface UnionType {
  readonly kind: 'union'
  readonly branches: readonly AvroType[]
  readonly wrapped: boolean
}

/** The name of a branch in a wrapped union. */
export function branchName(type: AvroType): string {
  if ('name' in type) return type.name
  return type.kind === 'int64' ? 'long' : type.kind
}

/** The name without its namespace. */
export function unqualified(fullName: string): string {
  return fullName.slice(fullName.lastIndexOf('.') + 1)
}

/** True for record types that contain themselves, directly or indirectly. Decoding them needs a depth limit. */
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

/** Minimum number of bytes of a value. It exposes a malicious block count before anything is allocated. */
export function minimumBytes(type: AvroType): number {
  const open = new Set<AvroType>()
  /**
   * The results for records. Without them, a record would be visited once per path that leads to it, and the number of
   * paths can double with every record.
   */
  const known = new Map<AvroType, number>()
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
        // For a record inside itself, 0 is a sufficient lower bound.
        if (open.has(of)) return 0
        const counted = known.get(of)
        if (counted !== undefined) return counted
        open.add(of)
        const sum = of.fields.reduce((bytes, field) => bytes + minimum(field.type), 0)
        open.delete(of)
        known.set(of, sum)
        return sum
      }
      default:
        return 1
    }
  }
  return minimum(type)
}
