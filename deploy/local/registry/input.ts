import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import { type AvroType, SchemaError } from '../../../schemas/avro/types.ts'
import { canonicalText } from './canonical.ts'
import { RegistryError } from './errors.ts'

const MAX_VERSION = 2 ** 31 - 1
/** Highest id of a schema. Records contain the id as a signed integer of four bytes. */
const MAX_ID = 2 ** 31 - 1

/** A schema as sent by a client. */
export interface SchemaInput {
  readonly schema: string
  readonly schemaType?: string
  readonly references?: readonly unknown[]
  /** Used only in IMPORT mode. In other modes, a new schema with an id of at least 0 is refused. */
  readonly id?: number | null
  readonly version?: number | null
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

/**
 * Returns the id and the version that the client has chosen. Either is undefined if the registry must choose it.
 * Clients send null, a negative id or a version below 1 by default.
 * @throws RegistryError for any other value. An id that is not an integer would become part of every later id
 */
export function chosenNumbers({ id, version }: SchemaInput): { readonly id?: number; readonly version?: number } {
  return { id: chosenNumber('id', id, 0, MAX_ID), version: chosenNumber('version', version, 1, MAX_VERSION) }
}

function chosenNumber(name: string, given: number | null | undefined, min: number, max: number): number | undefined {
  if (given === undefined || given === null) return undefined
  if (!Number.isInteger(given) || given > max) throw new RegistryError('invalidRequest', `The ${name} is not an integer up to ${max}`)
  return given < min ? undefined : given
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
