import { isNumber, wholeNumber } from './json.ts'
import type { AvroNode, PrimitiveName } from './schema.ts'

const INT_LIMIT = 2n ** 31n
const LONG_LIMIT = 2n ** 63n
/** Bytes are written as text of code points 0-255: anything above is no byte. */
const NOT_A_BYTE = /[^\0-\u00ff]/

/** Whether a field of this type may have this JSON default. A union's default may fit any branch (Avro 1.12; before, the first only). */
export function isValidDefault(node: AvroNode, value: unknown): boolean {
  switch (node.kind) {
    case 'primitive':
      return isValidPrimitive(node.name, value)
    case 'union':
      return node.branches.some((branch) => isValidDefault(branch, value))
    case 'array':
      return Array.isArray(value) && value.every((item) => isValidDefault(node.items, item))
    case 'map':
      return isObject(value) && Object.values(value).every((entry) => isValidDefault(node.values, entry))
    case 'enum':
      return typeof value === 'string' && node.symbols.includes(value)
    case 'fixed':
      return typeof value === 'string' && !NOT_A_BYTE.test(value) && value.length === node.size
    case 'record':
      return (
        isObject(value) &&
        node.fields.every((field) => (Object.hasOwn(value, field.name) ? isValidDefault(field.type, value[field.name]) : field.hasDefault))
      )
  }
}

function isValidPrimitive(name: PrimitiveName, value: unknown): boolean {
  switch (name) {
    case 'null':
      return value === null
    case 'boolean':
      return typeof value === 'boolean'
    case 'int':
      return isWithin(value, INT_LIMIT)
    case 'long':
      return isWithin(value, LONG_LIMIT)
    case 'float':
    case 'double':
      // JSON has no other way to write these three.
      return isNumber(value) || value === 'NaN' || value === 'Infinity' || value === '-Infinity'
    case 'bytes':
      return typeof value === 'string' && !NOT_A_BYTE.test(value)
    case 'string':
      return typeof value === 'string'
  }
}

function isWithin(value: unknown, limit: bigint): boolean {
  const whole = wholeNumber(value)
  return whole !== undefined && whole >= -limit && whole < limit
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
