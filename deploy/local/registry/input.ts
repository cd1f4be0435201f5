import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import { type AvroType, SchemaError } from '../../../schemas/avro/types.ts'
import { canonicalText } from './canonical.ts'
import { RegistryError } from './errors.ts'

const MAX_VERSION = 2 ** 31 - 1

/** A schema as sent by a client. */
export interface SchemaInput {
  readonly schema: string
  readonly schemaType?: string
  readonly references?: readonly unknown[]
  /** Used only in IMPORT mode. In other modes, a new schema with an id of at least 0 is refused. */
  readonly id?: number
  readonly version?: number
}

/**
 * Parses a schema and returns it with its canonical text.
 * @throws RegistryError when it is not a valid Avro schema or uses an unsupported feature
 */
export function readSchema(input: SchemaInput): { type: AvroType; text: string } {
  if (input.schemaType !== undefined && input.schemaType !== 'AVRO') {
    throw new RegistryError('invalidSchema', `Schema type ${input.schemaType} is not supported here; only AVRO is`)
  }
  if (input.references !== undefined && input.references.length > 0) {
    throw new RegistryError('invalidSchema', 'Schema references are not supported here; include the referenced types in the schema')
  }
  if (typeof input.schema !== 'string' || input.schema.trim() === '') throw new RegistryError('invalidSchema', 'Invalid schema: empty')
  try {
    const type = parseSchemaText(input.schema)
    return { type, text: canonicalText(type) }
  } catch (error) {
    if (error instanceof SchemaError) throw new RegistryError('invalidSchema', `Invalid schema: ${error.message}`)
    throw error
  }
}

/** Parses a version in a URL path. */
export function versionNumber(text: string): number | 'latest' {
  if (text === 'latest' || text === '-1') return 'latest'
  const version = Number(text)
  if (!Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
    throw new RegistryError(
      'invalidVersion',
      `The specified version '${text}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
    )
  }
  return version
}
