import fc from 'fast-check'
import { parseSchema } from '../../../schemas/avro/parse.ts'
import { type AvroType, branchName } from '../../../schemas/avro/types.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'

type Json = { [property: string]: unknown }

const SMALL = 4
const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const

const shapes = fc.letrec<{ any: AvroSchema; branch: AvroSchema; named: AvroSchema; primitive: AvroSchema }>((tie) => ({
  primitive: fc.constantFrom<AvroSchema>(...PRIMITIVES),
  named: fc.oneof(
    fc
      .array(tie('any'), { maxLength: SMALL })
      .map((types): AvroSchema => ({ type: 'record', fields: types.map((type, index) => ({ name: `f${index}`, type })) })),
    fc
      .integer({ min: 1, max: 70 })
      .map((count): AvroSchema => ({ type: 'enum', symbols: Array.from({ length: count }, (_, index) => `S${index}`) })),
    fc.nat({ max: SMALL }).map((size): AvroSchema => ({ type: 'fixed', size })),
  ),
  branch: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('primitive'),
    tie('named'),
    tie('any').map((items): AvroSchema => ({ type: 'array', items })),
    tie('any').map((values): AvroSchema => ({ type: 'map', values })),
  ),
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 4, arbitrary: tie('branch') },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(tie('branch'), { minLength: 1, maxLength: SMALL, selector: unionKey })
        .map((branches): AvroSchema => branches),
    },
  ),
}))

function unionKey(branch: AvroSchema): unknown {
  if (typeof branch === 'string') return branch
  const { type } = branch as Json
  return type === 'array' || type === 'map' ? type : branch
}

/**
 * Schemas of every type except int64, because other implementations do not have that type. Named types have unique
 * names.
 */
export const schemas: fc.Arbitrary<AvroSchema> = shapes.any.map((shape) => withNames(shape))

function withNames(shape: AvroSchema): AvroSchema {
  let names = 0
  function name(of: unknown): unknown {
    if (Array.isArray(of)) return of.map(name)
    if (typeof of !== 'object' || of === null) return of
    const json = of as Json
    const copy: Json = { ...json }
    if (json.type === 'record' || json.type === 'enum' || json.type === 'fixed') copy.name = `n.N${names++}`
    if (json.items) copy.items = name(json.items)
    if (json.values) copy.values = name(json.values)
    if (json.fields) copy.fields = (json.fields as Json[]).map((field) => ({ ...field, type: name(field.type) }))
    return copy
  }
  return name(shape) as AvroSchema
}

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.string({ unit: 'grapheme', maxLength: 60 }))
const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))
/**
 * Maximum magnitude of generated longs. Beyond it, avsc rounds their zigzag form. The decoder's own tests cover larger
 * longs and compare them with the definition of the format.
 */
const LARGEST = 2 ** 52
const safeLong = fc.oneof(
  fc.maxSafeInteger().map((value) => Math.max(-LARGEST, Math.min(LARGEST, value))),
  fc.integer({ min: -200, max: 200 }),
  fc.integer(),
  fc.constantFrom(LARGEST, -LARGEST, 2 ** 31, -(2 ** 31) - 1, 2 ** 34, 2 ** 35 - 1),
)

/** Returns true if no union in the schema has a branch whose type could be promoted to another branch's type. */
export function hasDistinctBranches(schema: AvroSchema): boolean {
  if (typeof schema === 'string') return true
  if (Array.isArray(schema)) {
    const kinds = schema.map((branch) => PROMOTABLE[branch as string] ?? branch)
    return new Set(kinds).size === kinds.length && schema.every(hasDistinctBranches)
  }
  const { items, values, fields } = schema as { items?: AvroSchema; values?: AvroSchema; fields?: { type: AvroSchema }[] }
  const inner = [items, values, ...(fields ?? []).map((field) => field.type)]
  return inner.every((type) => type === undefined || hasDistinctBranches(type))
}

const PROMOTABLE: { [type: string]: string } = {
  int: 'number',
  long: 'number',
  float: 'number',
  double: 'number',
  string: 'text',
  bytes: 'text',
}

/** Generates values of a schema, in the form that the codecs accept. */
export function valuesOf(schema: AvroSchema): fc.Arbitrary<unknown> {
  return values(parseSchema(schema), SMALL)
}

function values(type: AvroType, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'int':
      return fc.oneof(fc.integer(), fc.integer({ min: -200, max: 200 }))
    case 'long':
      return safeLong
    case 'int64':
      return fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), safeLong.map(BigInt))
    case 'float':
      return fc.float()
    case 'double':
      return fc.double()
    case 'bytes':
      return bytes
    case 'string':
      return text
    case 'enum':
      return fc.constantFrom(...type.symbols)
    case 'fixed':
      return fc.uint8Array({ minLength: type.size, maxLength: type.size }).map((array) => Buffer.from(array))
    case 'array':
      return depth === 0 ? fc.constant([]) : fc.array(values(type.items, depth - 1), { maxLength: SMALL })
    case 'map':
      // Excludes the key `__proto__`: other Avro implementations lose it, because assigning it sets an object's
      // prototype.
      return fc.dictionary(
        text.filter((key) => key !== '__proto__'),
        values(type.values, depth),
        { maxKeys: SMALL, noNullPrototype: true },
      )
    case 'union':
      return fc.oneof(
        ...type.branches.map((branch) => {
          const inner = values(branch, depth)
          return type.wrapped && branch.kind !== 'null' ? inner.map((value) => ({ [branchName(branch)]: value })) : inner
        }),
      )
    case 'record':
      return fc.record(Object.fromEntries(type.fields.map((field) => [field.name, values(field.type, depth)])))
  }
}
