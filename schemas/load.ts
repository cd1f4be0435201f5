import { readdirSync, readFileSync } from 'node:fs'
import { avroValue } from './avro/value.ts'
import type { AvroSchema, ValueFormat } from './topic.ts'
import type { RecordTypes } from './types.ts'

const EXTENSION = '.avsc'

const loaded = new Map<string, AvroSchema>()
/** One format per file, so that its codecs are compiled once. */
const formats = new Map<string, ValueFormat<never>>()

/** The schema in `schemas/<file>.avsc`; the same object at every call. */
export function loadSchema(file: string): AvroSchema {
  const known = loaded.get(file)
  if (known) return known
  const schema = JSON.parse(readFileSync(new URL(`${file}${EXTENSION}`, import.meta.url), 'utf8')) as AvroSchema
  loaded.set(file, schema)
  return schema
}

/** Every schema file below `schemas/`, without its extension, in order. */
export function schemaFiles(): string[] {
  const entries = readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })
  const files = entries.filter((entry) => entry.endsWith(EXTENSION)).map((entry) => entry.slice(0, -EXTENSION.length).replaceAll('\\', '/'))
  return files.sort()
}

/** The Avro format of a record, typed by its file: `avro('trends/Tweet')` holds `Tweet` objects. */
export function avro<File extends keyof RecordTypes>(file: File): ValueFormat<RecordTypes[File]> {
  const known = formats.get(file) as ValueFormat<RecordTypes[File]> | undefined
  if (known) return known
  const format = avroValue<RecordTypes[File]>(loadSchema(file))
  formats.set(file, format as ValueFormat<never>)
  return format
}
