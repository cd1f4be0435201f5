import { exactInteger, isNumber } from './json.ts'
import { type AvroType, branchName, type Field, SchemaError } from './types.ts'

const INT_BITS = 32
const LONG_BITS = 64
/** The numbers that JSON can express only as strings. */
const NO_NUMBERS: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity'])
/** Highest code point in a default for bytes, because each character represents one byte. */
const MAX_BYTE = 0xff

/** Maximum depth of a default. If the default of a record contains the record itself, its depth is infinite. */
const MAX_DEPTH = 200
/**
 * Maximum number of values in all defaults of a schema. If two fields of a record default to a second record, two
 * fields of the second to a third, and so on, each record doubles the number. A short schema can therefore describe a
 * default that does not fit into memory.
 */
const MAX_VALUES = 100_000

/** Number of values that have been checked in the defaults of one schema. It must not exceed `MAX_VALUES`. */
export interface DefaultBudget {
  values: number
}

/**
 * Checks the default of a field.
 * @param budget shared by all defaults of a schema
 * @returns the reason why `json` is not a valid default of the type; undefined when it is valid
 * @throws SchemaError for a default that is too deep or too large
 */
export function checkDefault(type: AvroType, json: unknown, budget: DefaultBudget = { values: 0 }): string | undefined {
  return check(type, json, budget, 0)
}

/**
 * Checks a value in a default, together with the values inside it. At the limits, the function throws instead of
 * returning a reason: if it returned a reason, every enclosing union would try its other branches, which takes
 * exponential time.
 */
function check(type: AvroType, json: unknown, budget: DefaultBudget, depth: number): string | undefined {
  if (depth > MAX_DEPTH) throw new SchemaError(`a default is nested deeper than ${MAX_DEPTH} levels`)
  if (++budget.values > MAX_VALUES) throw new SchemaError(`the defaults contain more than ${MAX_VALUES} values`)
  const inside = (of: AvroType, value: unknown) => check(of, value, budget, depth + 1)
  switch (type.kind) {
    case 'null':
      return json === null ? undefined : 'expected null'
    case 'boolean':
      return typeof json === 'boolean' ? undefined : 'expected a boolean'
    case 'int':
      return isInteger(json, INT_BITS) ? undefined : 'expected an int'
    case 'long':
    case 'int64':
      return isInteger(json, LONG_BITS) ? undefined : 'expected a 64-bit integer; JavaScript numbers are exact only up to 2^53-1'
    case 'float':
    case 'double':
      return isNumber(json) || NO_NUMBERS.has(json) ? undefined : 'expected a number'
    case 'string':
      return typeof json === 'string' ? undefined : 'expected a string'
    case 'bytes':
      return isByteText(json) ? undefined : 'expected a string of the characters U+0000 to U+00FF'
    case 'fixed':
      return isByteText(json) && json.length === type.size
        ? undefined
        : `expected a string of ${type.size} characters from U+0000 to U+00FF`
    case 'enum':
      return type.symbols.includes(json as string) ? undefined : 'expected a symbol of the enum'
    case 'array':
      return Array.isArray(json) ? firstReason(json.map((item) => inside(type.items, item))) : 'expected an array'
    case 'map':
      return isObject(json) ? firstReason(Object.values(json).map((value) => inside(type.values, value))) : 'expected an object'
    case 'union':
      return type.branches.some((branch) => inside(branch, json) === undefined) ? undefined : 'it matches no branch of the union'
    case 'record':
      if (!isObject(json)) return 'expected an object'
      return firstReason(
        type.fields.map((field) => {
          const value = fieldValue(json, field)
          return value === undefined ? `field ${field.name} is missing` : inside(field.type, value)
        }),
      )
  }
}

/**
 * Returns the JavaScript source of an expression that creates a new copy of the default value. The default must have
 * been checked.
 * @throws SchemaError if the default of a long is outside ±(2^53-1)
 */
export function defaultSource(type: AvroType, json: unknown): string {
  switch (type.kind) {
    case 'int64':
      return `${exactInteger(json)}n`
    case 'long': {
      const value = exactInteger(json)
      // A JavaScript number would round a larger default. Decoded values are never rounded, so defaults must not be
      // either.
      if (!Number.isSafeInteger(Number(value)))
        throw new SchemaError(`the default ${value} is outside ±(2^53-1): declare the long with logicalType int64`)
      return String(value)
    }
    case 'float':
    case 'double':
      // A number such as 1e999 is parsed as Infinity, for which JSON.stringify would write null.
      return typeof json === 'number' || NO_NUMBERS.has(json) ? String(json) : JSON.stringify(json)
    case 'bytes':
    case 'fixed':
      return `Buffer.from(${JSON.stringify(json)}, 'latin1')`
    case 'array':
      return `[${(json as unknown[]).map((item) => defaultSource(type.items, item)).join(', ')}]`
    case 'map': {
      const entries = Object.entries(json as object)
      const properties = entries.map(([key, value]) => `[${JSON.stringify(key)}]: ${defaultSource(type.values, value)}`)
      return `{ __proto__: null, ${properties.join(', ')} }`
    }
    case 'union': {
      const branch = defaultBranch(type.branches, json) as AvroType
      const value = defaultSource(branch, json)
      return type.wrapped && branch.kind !== 'null' ? `{ ${JSON.stringify(branchName(branch))}: ${value} }` : value
    }
    case 'record': {
      const given = json as Record<string, unknown>
      const properties = type.fields.map((field) => {
        const value = fieldValue(given, field)
        return `${JSON.stringify(field.name)}: ${defaultSource(field.type, value)}`
      })
      return `{ ${properties.join(', ')} }`
    }
    default:
      return JSON.stringify(json)
  }
}

/**
 * Finds the branch of a default. Since Avro 1.12 a default may match any branch; in older schemas it matches the first
 * branch.
 */
function defaultBranch(branches: readonly AvroType[], json: unknown): AvroType | undefined {
  return branches.find((branch) => checkDefault(branch, json) === undefined)
}

function fieldValue(json: Record<string, unknown>, field: Field): unknown {
  return Object.hasOwn(json, field.name) ? json[field.name] : field.default
}

function isInteger(json: unknown, bits: number): boolean {
  const value = exactInteger(json)
  return value !== undefined && BigInt.asIntN(bits, value) === value
}

function isByteText(json: unknown): json is string {
  return typeof json === 'string' && [...json].every((character) => (character.codePointAt(0) as number) <= MAX_BYTE)
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function firstReason(reasons: readonly (string | undefined)[]): string | undefined {
  return reasons.find((reason) => reason !== undefined)
}
