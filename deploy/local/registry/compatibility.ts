import { isPrimitive, isReadableAs } from '../../../schemas/avro/resolve.ts'
import {
  type AvroType,
  branchName,
  type EnumType,
  type FixedType,
  type RecordType,
  type UnionType,
  unqualified,
} from '../../../schemas/avro/types.ts'

type NamedType = RecordType | EnumType | FixedType

/**
 * Kinds of incompatibility between a reader's and a writer's schema. Avro's compatibility checker uses the same names.
 */
export type IncompatibilityType =
  | 'NAME_MISMATCH'
  | 'FIXED_SIZE_MISMATCH'
  | 'MISSING_ENUM_SYMBOLS'
  | 'READER_FIELD_MISSING_DEFAULT_VALUE'
  | 'TYPE_MISMATCH'
  | 'MISSING_UNION_BRANCH'

export interface Incompatibility {
  readonly type: IncompatibilityType
  /**
   * JSON pointer into the reader's schema. Below a union of the writer, it contains the index of the writer's branch.
   */
  readonly path: string
  readonly message: string
}

/**
 * Maximum number of reasons, enough for every real schema. Reasons inside a type are repeated for each path to the
 * type, and the number of paths can double with each level.
 */
const MAX_REASONS = 1_000

/** Returns the reasons why `reader` cannot read data written with `writer`, at most 1,000; empty when it can. */
export function incompatibilities(reader: AvroType, writer: AvroType): Incompatibility[] {
  /**
   * Results, keyed by reader and writer. A pair that is still being compared counts as readable. This ends the
   * recursion for recursive types.
   */
  const answers = new Map<AvroType, Map<AvroType, Incompatibility[]>>()
  /** The pairs for which no incompatibility was found, in the order in which their comparisons ended. */
  const readable: [reader: AvroType, writer: AvroType][] = []

  function check(r: AvroType, w: AvroType, path: string): Incompatibility[] {
    const byWriter = answers.get(r) ?? new Map<AvroType, Incompatibility[]>()
    answers.set(r, byWriter)
    const known = byWriter.get(w)
    if (known) return known
    byWriter.set(w, [])
    const earlier = readable.length
    const found = compare(r, w, path).slice(0, MAX_REASONS)
    byWriter.set(w, found)
    if (found.length === 0) readable.push([r, w])
    // The pairs that this comparison added may be readable only because this pair counted as readable, so they are
    // compared again when needed.
    else for (const [inner, written] of readable.splice(earlier)) answers.get(inner)?.delete(written)
    return found
  }

  function compare(r: AvroType, w: AvroType, path: string): Incompatibility[] {
    if (w.kind === 'union') return w.branches.flatMap((branch, index) => check(r, branch, `${path}/${index}`))
    if (r.kind === 'union') return readerUnion(r, w, path)
    if (isPrimitive(r) && isPrimitive(w)) return isReadableAs(w.kind, r.kind) ? [] : [typeMismatch(r, w, path)]
    if (r.kind === 'array' && w.kind === 'array') return check(r.items, w.items, `${path}/items`)
    if (r.kind === 'map' && w.kind === 'map') return check(r.values, w.values, `${path}/values`)
    if (r.kind === 'record' && w.kind === 'record') return [...nameMismatch(r, w, path), ...records(r, w, path)]
    if (r.kind === 'enum' && w.kind === 'enum') return [...nameMismatch(r, w, path), ...symbols(r, w, path)]
    if (r.kind === 'fixed' && w.kind === 'fixed') {
      const names = nameMismatch(r, w, path)
      if (r.size === w.size) return names
      const message = `fixed ${r.name} has ${r.size} bytes for the reader, ${w.size} for the writer`
      return [...names, { type: 'FIXED_SIZE_MISMATCH', path: `${path}/size`, message }]
    }
    return [typeMismatch(r, w, path)]
  }

  function readerUnion(r: UnionType, w: AvroType, path: string): Incompatibility[] {
    const tries = r.branches.map((branch, index) => check(branch, w, `${path}/${index}`))
    if (tries.some((found) => found.length === 0)) return []
    // The branch of the same kind and name is probably the intended branch, and its differences explain more than the
    // message "no branch matches".
    const meant = r.branches.findIndex((branch) => isNamed(branch) && isNamed(w) && branch.kind === w.kind && sameName(branch, w))
    return meant >= 0 ? [missingBranch(w, path), ...tries[meant]] : [missingBranch(w, path)]
  }

  function records(r: RecordType, w: RecordType, path: string): Incompatibility[] {
    return r.fields.flatMap((field, index) => {
      const at = `${path}/fields/${index}`
      const written = w.fields.find(({ name }) => name === field.name) ?? w.fields.find(({ name }) => field.aliases.includes(name))
      if (written) return check(field.type, written.type, `${at}/type`)
      if (field.default !== undefined) return []
      const message = `field '${field.name}' of record ${r.name} is not in the writer's schema and has no default`
      return [{ type: 'READER_FIELD_MISSING_DEFAULT_VALUE' as const, path: at, message }]
    })
  }

  return check(reader, writer, '')
}

function symbols(r: EnumType, w: EnumType, path: string): Incompatibility[] {
  if (r.default !== undefined) return []
  const missing = w.symbols.filter((symbol) => !r.symbols.includes(symbol))
  if (missing.length === 0) return []
  const message = `enum ${r.name} of the reader has neither the symbols ${missing.join(', ')} nor a default`
  return [{ type: 'MISSING_ENUM_SYMBOLS', path: `${path}/symbols`, message }]
}

function nameMismatch(r: NamedType, w: NamedType, path: string): Incompatibility[] {
  if (sameName(r, w)) return []
  return [{ type: 'NAME_MISMATCH', path: `${path}/name`, message: `${described(r)} of the reader is ${described(w)} for the writer` }]
}

/** Compares unqualified names, as Avro's libraries do. An alias of the reader may match the writer's full name. */
function sameName(r: NamedType, w: NamedType): boolean {
  return unqualified(r.name) === unqualified(w.name) || r.aliases.includes(w.name)
}

function isNamed(node: AvroType): node is NamedType {
  return node.kind === 'record' || node.kind === 'enum' || node.kind === 'fixed'
}

/** Returns the name of a type for messages: `long`, `array`, `record com.acme.Order`. */
function described(type: AvroType): string {
  return isNamed(type) ? `${type.kind} ${type.name}` : branchName(type)
}

function typeMismatch(r: AvroType, w: AvroType, path: string): Incompatibility {
  return {
    type: 'TYPE_MISMATCH',
    path: path || '/',
    message: `the reader's type ${described(r)} cannot read the writer's ${described(w)}`,
  }
}

function missingBranch(w: AvroType, path: string): Incompatibility {
  return {
    type: 'MISSING_UNION_BRANCH',
    path: path || '/',
    message: `the reader's union has no branch for the writer's ${described(w)}`,
  }
}
