import { readdirSync, readFileSync } from 'node:fs'
import { avroValue } from './avro/value.ts'
import type { AvroSchema, ValueFormat } from './topic.ts'

const EXTENSION = '.avsc'

/**
 * Maps each schema file (`links/Link`) to the type of its records. The generated `types.ts` of every folder adds the
 * folder's entries.
 */
// biome-ignore lint/suspicious/noEmptyInterface: each folder's types.ts adds entries by declaration merging
export interface RecordTypes {}

const loaded = new Map<string, AvroSchema>()
/** Formats, keyed by file. There is one format per file, so that its codecs are compiled only once. */
const formats = new Map<string, ValueFormat<never>>()

/** Loads the schema in `schemas/<file>.avsc`. Every call for the same file returns the same object. */
export function loadSchema(file: string): AvroSchema {
  const known = loaded.get(file)
  if (known) return known
  const schema = JSON.parse(readFileSync(new URL(`${file}${EXTENSION}`, import.meta.url), 'utf8')) as AvroSchema
  loaded.set(file, schema)
  return schema
}

/**
 * Returns the schema files of each folder below `schemas/`, as arguments of `loadSchema`. Folders and files are in
 * alphabetical order.
 */
export function schemaFolders(): ReadonlyMap<string, readonly string[]> {
  const entries = readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })
  const files = entries.filter((entry) => entry.endsWith(EXTENSION)).map((entry) => entry.slice(0, -EXTENSION.length).replaceAll('\\', '/'))
  return Map.groupBy(files.sort(), (file) => file.slice(0, file.lastIndexOf('/')))
}

/**
 * Returns the Avro format of a record. The file determines the type: `avro('trends/Tweet')` is a format of `Tweet`
 * objects.
 */
export function avro<File extends keyof RecordTypes>(file: File): ValueFormat<RecordTypes[File]> {
  const known = formats.get(file) as ValueFormat<RecordTypes[File]> | undefined
  if (known) return known
  const format = avroValue<RecordTypes[File]>(loadSchema(file))
  formats.set(file, format as ValueFormat<never>)
  return format
}
