import {
  type AvroType,
  branchName,
  type EnumType,
  type Field,
  minimumBytes,
  PRIMITIVES,
  type PrimitiveKind,
  type PrimitiveType,
  type RecordType,
  type UnionType,
  unqualified,
} from './types.ts'

/**
 * Thrown when data of the writer's schema cannot be read with the reader's schema. The message contains the reason and,
 * unless the schemas differ at the root, the path.
 */
export class IncompatibleSchemaError extends Error {
  override readonly name = 'IncompatibleSchemaError'
}

/** The result of Avro's schema resolution: a plan for reading data of a writer's schema with a reader's schema. */
export type Plan =
  | { readonly op: 'primitive'; readonly from: PrimitiveKind; readonly to: PrimitiveKind }
  | RecordPlan
  /** The writer's symbols, and for each of them the symbol that the reader gets; undefined if it cannot be read. */
  | { readonly op: 'enum'; readonly written: readonly string[]; readonly symbols: readonly (string | undefined)[] }
  | { readonly op: 'fixed'; readonly size: number }
  | { readonly op: 'array'; readonly items: Plan; readonly itemBytes: number }
  | { readonly op: 'map'; readonly values: Plan; readonly itemBytes: number }
  /** The writer's type is a union; there is one plan for each branch. */
  | { readonly op: 'branches'; readonly branches: readonly Plan[] }
  /** The reader's type is a union that wraps its values. */
  | { readonly op: 'wrap'; readonly name: string; readonly plan: Plan }
  | IncompatiblePlan

/**
 * The result for types that cannot be resolved. In a writer's union that also has a readable branch, decoding fails
 * only when the data uses the unreadable branch. In all other cases, the schemas are incompatible.
 */
export interface IncompatiblePlan {
  readonly op: 'incompatible'
  /** The path of the reader's type that cannot be read; relative to the union if the plan is for a branch. */
  readonly path: string
  readonly reason: string
}

export interface RecordPlan {
  readonly op: 'record'
  readonly reader: RecordType
  /** Steps in the order of the writer's fields. */
  readonly steps: ({ readonly read: Plan; readonly field: Field } | { readonly skip: AvroType; readonly name: string })[]
  /** Fields of the reader that the writer does not have. */
  readonly defaults: Field[]
  /**
   * Why the record cannot be read. Needed for recursive records: a nested record may already refer to this plan when
   * the record turns out to be unreadable.
   */
  failure: IncompatiblePlan | undefined
}

/**
 * The promotions of the Avro specification, and the promotions between long and int64, which have the same encoding.
 */
const PROMOTIONS: { readonly [from in PrimitiveKind]?: readonly PrimitiveKind[] } = {
  int: ['long', 'int64', 'float', 'double'],
  long: ['int64', 'float', 'double'],
  int64: ['long', 'float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
}

/** Returns whether data of the first primitive type can be read as the second type. */
export function isReadableAs(from: PrimitiveKind, to: PrimitiveKind): boolean {
  return from === to || PROMOTIONS[from]?.includes(to) === true
}

/**
 * Creates the plan for reading data of the writer's type as the reader's type. Follows Avro's rules for fields (by name
 * and alias), defaults, promotions, unions and enum defaults. In a reader's union, a branch of the same type and name
 * takes precedence over a branch that needs a promotion, as in the Java implementation.
 * @throws IncompatibleSchemaError
 */
export function resolve(writer: AvroType, reader: AvroType): Plan {
  const records = new Map<AvroType, Map<AvroType, RecordPlan>>()
  const plan = read(writer, reader, '')
  if (plan.op === 'incompatible') throw new IncompatibleSchemaError(messageOf(plan))
  return plan

  function read(from: AvroType, to: AvroType, path: string): Plan {
    if (from.kind === 'union') return branches(from, to, path)
    if (to.kind === 'union') return intoUnion(from, to, path)
    if (from.kind === 'record' && to.kind === 'record' && sameName(from, to)) return record(from, to, path)
    if (from.kind === 'enum' && to.kind === 'enum' && sameName(from, to)) return enumeration(from, to)
    if (from.kind === 'fixed' && to.kind === 'fixed' && sameName(from, to)) {
      if (from.size === to.size) return { op: 'fixed', size: from.size }
      return incompatible(path, `${to.name} was written with ${from.size} bytes, not ${to.size}`)
    }
    if (from.kind === 'array' && to.kind === 'array') {
      const items = read(from.items, to.items, `${path}[]`)
      return items.op === 'incompatible' ? items : { op: 'array', items, itemBytes: minimumBytes(from.items) }
    }
    if (from.kind === 'map' && to.kind === 'map') {
      const values = read(from.values, to.values, `${path}{}`)
      return values.op === 'incompatible' ? values : { op: 'map', values, itemBytes: 1 + minimumBytes(from.values) }
    }
    if (isPrimitive(from) && isPrimitive(to) && isReadableAs(from.kind, to.kind)) {
      return { op: 'primitive', from: from.kind, to: to.kind }
    }
    return incompatible(path, `${described(from)} cannot be read as ${described(to)}`)
  }

  function branches(from: UnionType, to: AvroType, path: string): Plan {
    const plans = from.branches.map((branch) => read(branch, to, path))
    const readable = plans.some((each) => each.op !== 'incompatible')
    return readable ? { op: 'branches', branches: plans.map((each) => inside(path, each)) } : plans[0]
  }

  function intoUnion(from: AvroType, to: UnionType, path: string): Plan {
    const exact = to.branches.findIndex((branch) => isSameType(branch, from))
    const candidates = exact < 0 ? to.branches : [to.branches[exact], ...to.branches.filter((_, index) => index !== exact)]
    let exactFailure: IncompatiblePlan | undefined
    for (const branch of candidates) {
      const plan = read(from, branch, path)
      if (plan.op === 'incompatible') {
        if (branch === to.branches[exact]) exactFailure = plan
        continue
      }
      return to.wrapped && branch.kind !== 'null' ? { op: 'wrap', name: branchName(branch), plan } : plan
    }
    return exactFailure ?? incompatible(path, `${described(from)} matches no branch of the union ${to.branches.map(described).join(', ')}`)
  }

  function record(from: RecordType, to: RecordType, path: string): Plan {
    const known = records.get(from)?.get(to)
    if (known) return known.failure ?? known
    const plan: RecordPlan = { op: 'record', reader: to, steps: [], defaults: [], failure: undefined }
    const plans = records.get(from) ?? new Map<AvroType, RecordPlan>()
    records.set(from, plans.set(to, plan))
    plan.failure = fillRecord(plan, from, to, path)
    return plan.failure ?? plan
  }

  function fillRecord(plan: RecordPlan, from: RecordType, to: RecordType, path: string): IncompatiblePlan | undefined {
    const sources = new Map<Field, Field>()
    for (const field of to.fields) {
      const names = [field.name, ...field.aliases]
      const source = names
        .map((name) => from.fields.find((written) => written.name === name))
        .find((written) => written && !sources.has(written))
      if (source) sources.set(source, field)
      else if (field.default !== undefined) plan.defaults.push(field)
      else return incompatible(`${path}.${field.name}`, 'the writer does not have the field, and the field has no default')
    }
    for (const written of from.fields) {
      const field = sources.get(written)
      if (!field) {
        plan.steps.push({ skip: written.type, name: written.name })
        continue
      }
      const source = read(written.type, field.type, `${path}.${field.name}`)
      if (source.op === 'incompatible') return source
      plan.steps.push({ read: source, field })
    }
    return undefined
  }
}

/** Makes the path of a branch relative to the path of its union, because the decoder prepends the path of the union. */
function inside(path: string, plan: Plan): Plan {
  if (plan.op !== 'incompatible' || !plan.path.startsWith(path)) return plan
  return { ...plan, path: plan.path.slice(path.length) }
}

function enumeration(from: EnumType, to: EnumType): Plan {
  const symbols = from.symbols.map((symbol) => (to.symbols.includes(symbol) ? symbol : to.default))
  return { op: 'enum', written: from.symbols, symbols }
}

/** Returns whether the types' unqualified names are equal, or one of the reader's aliases names the writer's type. */
function sameName(from: { name: string }, to: { name: string; aliases: readonly string[] }): boolean {
  const name = unqualified(from.name)
  return name === unqualified(to.name) || to.aliases.some((alias) => alias === from.name || unqualified(alias) === name)
}

/** Returns whether two types are the same Avro type. A long and an int64 count as the same type. */
function isSameType(one: AvroType, other: AvroType): boolean {
  const isSameKind = one.kind === other.kind || (isPrimitive(one) && isPrimitive(other))
  return isSameKind && branchName(one) === branchName(other)
}

function incompatible(path: string, reason: string): IncompatiblePlan {
  return { op: 'incompatible', path, reason }
}

/** Returns the reason with its path. */
export function messageOf({ path, reason }: IncompatiblePlan): string {
  return path === '' ? reason : `${path}: ${reason}`
}

export function isPrimitive(type: AvroType): type is PrimitiveType {
  return PRIMITIVES.has(type.kind) || type.kind === 'int64'
}

function described(type: AvroType): string {
  switch (type.kind) {
    case 'record':
    case 'enum':
    case 'fixed':
      return `${type.kind} ${type.name}`
    case 'union':
      return `union of ${type.branches.map(described).join(', ')}`
    default:
      return type.kind
  }
}
