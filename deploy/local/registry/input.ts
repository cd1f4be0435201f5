import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import { type AvroType, SchemaError } from '../../../schemas/avro/types.ts'
import { canonicalText } from './canonical.ts'
import { RegistryError } from './errors.ts'

/** Maximum id and version. Ids have four bytes in records. */
const MAX_NUMBER = 2 ** 31 - 1
const LEAST_ID = 0
const LEAST_VERSION = 1

/** A schema as sent by a client. Null means that the property is absent. */
export interface SchemaInput {
  readonly schema: string
  readonly schemaType?: string | null
  readonly references?: readonly unknown[] | null
  /** Used only in IMPORT mode. In other modes, a new schema with an id is refused. An id below 0 counts as absent. */
  readonly id?: number | null
  /** Used only in IMPORT mode. A version below 1 counts as absent. */
  readonly version?: number | null
}

/** A valid schema with its canonical text, and with the id and version that the client requests, if any. */
export interface ReadSchema {
  readonly type: AvroType
  readonly text: string
  readonly id: number | undefined
  readonly version: number | undefined
}

/**
 * Parses a schema.
 * @throws RegistryError when it is not a valid Avro schema or uses an unsupported feature
 */
export function readSchema(input: SchemaInput): ReadSchema {
  const { schemaType, references } = input
  if (schemaType !== undefined && schemaType !== null && schemaType !== 'AVRO') {
    throw new RegistryError('invalidSchema', `Schema type ${schemaType} is not supported here; only AVRO is`)
  }
  if (references !== undefined && references !== null && references.length > 0) {
    throw new RegistryError('invalidSchema', 'Schema references are not supported here; include the referenced types in the schema')
  }
  if (typeof input.schema !== 'string' || input.schema.trim() === '') throw new RegistryError('invalidSchema', 'Invalid schema: empty')
  try {
    const type = parseSchemaText(input.schema)
    return {
      type,
      text: canonicalText(type),
      id: demanded('id', input.id, LEAST_ID),
      version: demanded('version', input.version, LEAST_VERSION),
    }
  } catch (error) {
    if (error instanceof SchemaError) throw new RegistryError('invalidSchema', `Invalid schema: ${error.message}`)
    throw error
  }
}

/**
 * Returns the id or version that a client requests. Returns undefined if the value is missing, null or less than
 * `least`, because the registry then chooses.
 * @throws RegistryError if the value is not an integer up to `MAX_NUMBER`. Later ids are computed from the highest id,
 * so one invalid id would make all later ids invalid
 */
function demanded(name: string, value: number | null | undefined, least: number): number | undefined {
  if (value === undefined || value === null) return undefined
  if (!Number.isInteger(value) || value > MAX_NUMBER)
    throw new RegistryError('invalidRequest', `The ${name} is not an integer up to 2^31-1`)
  return value < least ? undefined : value
}

/** Parses a version in a URL path. */
export function versionNumber(text: string): number | 'latest' {
  if (text === 'latest' || text === '-1') return 'latest'
  const version = Number(text)
  if (!Number.isInteger(version) || version < LEAST_VERSION || version > MAX_NUMBER) {
    throw new RegistryError(
      'invalidVersion',
      `The specified version '${text}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
    )
  }
  return version
}
