import {
  type AvroNode,
  describeNode,
  type EnumNode,
  fullName,
  type NamedNode,
  type PrimitiveName,
  type RecordNode,
  type UnionNode,
} from './schema.ts'

/** What a reader with one schema cannot read of data written with the other. The names are those of Avro's own checker. */
export type IncompatibilityType =
  | 'NAME_MISMATCH'
  | 'FIXED_SIZE_MISMATCH'
  | 'MISSING_ENUM_SYMBOLS'
  | 'READER_FIELD_MISSING_DEFAULT_VALUE'
  | 'TYPE_MISMATCH'
  | 'MISSING_UNION_BRANCH'

export interface Incompatibility {
  readonly type: IncompatibilityType
  /** JSON pointer into the reader's schema. */
  readonly path: string
  readonly message: string
}

/** Writer types that a reader of the key's type takes besides its own (Avro specification, "Schema Resolution"). */
const PROMOTIONS: Readonly<Partial<Record<PrimitiveName, readonly PrimitiveName[]>>> = {
  long: ['int'],
  float: ['int', 'long'],
  double: ['int', 'long', 'float'],
  bytes: ['string'],
  string: ['bytes'],
}

/** All reasons why data written with `writer` cannot be read with `reader`; none means that it can. */
export function incompatibilities(reader: AvroNode, writer: AvroNode): Incompatibility[] {
  /** Answers by reader and writer. A pair under comparison counts as readable: recursive types end there. */
  const answers = new Map<AvroNode, Map<AvroNode, Incompatibility[]>>()

  function check(r: AvroNode, w: AvroNode, path: string): Incompatibility[] {
    const byWriter = answers.get(r) ?? new Map<AvroNode, Incompatibility[]>()
    answers.set(r, byWriter)
    const known = byWriter.get(w)
    if (known) return known
    byWriter.set(w, [])
    const found = compare(r, w, path)
    byWriter.set(w, found)
    return found
  }

  function compare(r: AvroNode, w: AvroNode, path: string): Incompatibility[] {
    if (w.kind === 'union') return w.branches.flatMap((branch, index) => check(r, branch, `${path}/${index}`))
    if (r.kind === 'union') return readerUnion(r, w, path)
    if (r.kind === 'primitive' && w.kind === 'primitive') {
      return r.name === w.name || PROMOTIONS[r.name]?.includes(w.name) ? [] : [typeMismatch(r, w, path)]
    }
    if (r.kind === 'array' && w.kind === 'array') return check(r.items, w.items, `${path}/items`)
    if (r.kind === 'map' && w.kind === 'map') return check(r.values, w.values, `${path}/values`)
    if (r.kind === 'record' && w.kind === 'record') return [...nameMismatch(r, w, path), ...records(r, w, path)]
    if (r.kind === 'enum' && w.kind === 'enum') return [...nameMismatch(r, w, path), ...symbols(r, w, path)]
    if (r.kind === 'fixed' && w.kind === 'fixed') {
      const names = nameMismatch(r, w, path)
      if (r.size === w.size) return names
      const message = `fixed ${fullName(r)} has ${r.size} bytes for the reader, ${w.size} for the writer`
      return [...names, { type: 'FIXED_SIZE_MISMATCH', path: `${path}/size`, message }]
    }
    return [typeMismatch(r, w, path)]
  }

  function readerUnion(r: UnionNode, w: AvroNode, path: string): Incompatibility[] {
    const tries = r.branches.map((branch, index) => check(branch, w, `${path}/${index}`))
    if (tries.some((found) => found.length === 0)) return []
    // A branch of the same kind and name is the one that was meant: its own differences explain more than "no branch fits".
    const meant = r.branches.findIndex((branch) => isNamed(branch) && isNamed(w) && branch.kind === w.kind && sameName(branch, w))
    return meant >= 0 ? [missingBranch(w, path), ...tries[meant]] : [missingBranch(w, path)]
  }

  function records(r: RecordNode, w: RecordNode, path: string): Incompatibility[] {
    return r.fields.flatMap((field, index) => {
      const at = `${path}/fields/${index}`
      const written = w.fields.find(({ name }) => name === field.name) ?? w.fields.find(({ name }) => field.aliases.includes(name))
      if (written) return check(field.type, written.type, `${at}/type`)
      if (field.hasDefault) return []
      const message = `field '${field.name}' of record ${fullName(r)} is not in the writer's schema and has no default`
      return [{ type: 'READER_FIELD_MISSING_DEFAULT_VALUE' as const, path: at, message }]
    })
  }

  return check(reader, writer, '')
}

function symbols(r: EnumNode, w: EnumNode, path: string): Incompatibility[] {
  if (r.default !== undefined) return []
  const missing = w.symbols.filter((symbol) => !r.symbols.includes(symbol))
  if (missing.length === 0) return []
  const message = `enum ${fullName(r)} of the reader does not know the symbols ${missing.join(', ')} and has no default`
  return [{ type: 'MISSING_ENUM_SYMBOLS', path: `${path}/symbols`, message }]
}

function nameMismatch(r: NamedNode, w: NamedNode, path: string): Incompatibility[] {
  if (sameName(r, w)) return []
  return [{ type: 'NAME_MISMATCH', path: `${path}/name`, message: `${describeNode(r)} of the reader is ${describeNode(w)} for the writer` }]
}

/** The unqualified name decides, as in Avro's own libraries; an alias of the reader may stand for the writer's full name. */
function sameName(r: NamedNode, w: NamedNode): boolean {
  return r.name === w.name || r.aliases.includes(fullName(w))
}

function isNamed(node: AvroNode): node is NamedNode {
  return node.kind === 'record' || node.kind === 'enum' || node.kind === 'fixed'
}

function typeMismatch(r: AvroNode, w: AvroNode, path: string): Incompatibility {
  return {
    type: 'TYPE_MISMATCH',
    path: path || '/',
    message: `the reader's type ${describeNode(r)} cannot take the writer's ${describeNode(w)}`,
  }
}

function missingBranch(w: AvroNode, path: string): Incompatibility {
  return {
    type: 'MISSING_UNION_BRANCH',
    path: path || '/',
    message: `the reader's union has no branch for the writer's ${describeNode(w)}`,
  }
}
