import type { Codec } from '../codec.ts'
import type { AvroSchema, ValueFormat } from '../topic.ts'
import { SchemaError } from './types.ts'
import { avroValue, NO_SCHEMA_ID } from './value.ts'

interface RecordSchema {
  readonly [property: string]: unknown
  readonly type: 'record'
  readonly name: string
  readonly fields: readonly FieldSchema[]
}

interface FieldSchema {
  readonly [property: string]: unknown
  readonly name: string
  readonly type: AvroSchema
}

/**
 * Returns a format that decodes only the named fields of a record. The decoder skips all other fields, which
 * costs much less than creating them. The encoder takes whole records.
 * @param paths names of fields; `payer.user_id` is a field of a nested record
 * @throws SchemaError if the values are not records, or if a record lacks one of the fields
 */
export function projection<T>(whole: ValueFormat<unknown>, paths: readonly string[]): ValueFormat<T> {
  const { schema } = whole
  if (schema === undefined) throw new SchemaError('only values with a schema have projections')
  const reader = avroValue<T>(projected(schema, paths))
  return {
    schema,
    open(schemaId, schemas): Codec<T> {
      const { encode } = whole.open(schemaId, schemas) as Codec<T>
      const { decode } = reader.open(NO_SCHEMA_ID, { get: (id) => (id === schemaId ? schema : schemas.get(id)) })
      return { encode, decode }
    },
  }
}

/** Returns the names of a record's fields. */
export function fieldsOf({ schema }: ValueFormat<unknown>): string[] {
  if (schema === undefined || !isRecord(schema)) throw new SchemaError('only records have fields')
  return schema.fields.map(({ name }) => name)
}

function projected(schema: AvroSchema, paths: readonly string[]): AvroSchema {
  if (!isRecord(schema)) throw new SchemaError(`${JSON.stringify(schema)} is not a record`)
  const inner = Map.groupBy(paths, (path) => path.split('.', 1)[0])
  const fields = schema.fields.filter(({ name }) => inner.has(name))
  const missing = [...inner.keys()].find((name) => !fields.some((field) => field.name === name))
  if (missing !== undefined) throw new SchemaError(`${schema.name} has no field ${missing}`)
  return { ...schema, fields: fields.map((field) => projectedField(field, inner.get(field.name)!)) }
}

function projectedField(field: FieldSchema, paths: readonly string[]): FieldSchema {
  if (paths.includes(field.name)) return field
  return {
    ...field,
    type: projected(
      field.type,
      paths.map((path) => path.slice(field.name.length + 1)),
    ),
  }
}

function isRecord(schema: AvroSchema): schema is RecordSchema {
  return typeof schema === 'object' && 'type' in schema && schema.type === 'record'
}
