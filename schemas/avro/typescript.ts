import type { AvroSchema } from '../topic.ts'
import { parseSchema } from './parse.ts'
import { type AvroType, branchName, type EnumType, type RecordType, unqualified } from './types.ts'

export interface NamedSchema {
  /** The argument of `loadSchema`: the path relative to `schemas/` without `.avsc`. */
  readonly file: string
  readonly schema: AvroSchema
}

const HEADING = `/** Generated from the .avsc files of this folder by \`npm run schemas\`; a test keeps it up to date. Do not edit. */\n`

/**
 * Returns the TypeScript source for the records of one folder: one interface per record, one union type per enum, and
 * the folder's part of `RecordTypes`, which maps each file to its interface.
 * @throws Error when a schema is not a record, or when two files use the same name for different types
 */
export function typescriptOf(schemas: readonly NamedSchema[]): string {
  const declarations = new Map<string, string>()
  const files: string[] = []
  for (const { file, schema } of schemas) {
    const root = parseSchema(schema)
    if (root.kind !== 'record') throw new Error(`${file}.avsc is not a record; topics and stores hold only records`)
    declare(root, file, declarations)
    files.push(`  ${JSON.stringify(file)}: ${unqualified(root.name)}`)
  }
  const byFile = `declare module '../load.ts' {\n  interface RecordTypes {\n${files.join('\n')}\n  }\n}\n`
  return [HEADING, ...declarations.values(), byFile].join('\n')
}

function declare(type: AvroType, file: string, declarations: Map<string, string>): void {
  switch (type.kind) {
    case 'record':
    case 'enum': {
      const name = unqualified(type.name)
      const source = type.kind === 'record' ? interfaceOf(type) : unionOf(type)
      const earlier = declarations.get(name)
      if (earlier === source) return
      if (earlier !== undefined) throw new Error(`${file}.avsc declares ${name} differently from an earlier file`)
      declarations.set(name, source)
      if (type.kind === 'record') for (const field of type.fields) declare(field.type, file, declarations)
      return
    }
    case 'array':
      declare(type.items, file, declarations)
      return
    case 'map':
      declare(type.values, file, declarations)
      return
    case 'union':
      for (const branch of type.branches) declare(branch, file, declarations)
      return
    default:
      return
  }
}

function interfaceOf(record: RecordType): string {
  const lines = record.fields.map((field) => `${docOf(field.doc, '  ')}  ${field.name}: ${typeOf(field.type)}\n`)
  return `${docOf(record.doc, '')}export interface ${unqualified(record.name)} {\n${lines.join('')}}\n`
}

function unionOf(type: EnumType): string {
  return `${docOf(type.doc, '')}export type ${unqualified(type.name)} = ${type.symbols.map((symbol) => `'${symbol}'`).join(' | ')}\n`
}

function typeOf(type: AvroType): string {
  switch (type.kind) {
    case 'null':
    case 'boolean':
    case 'string':
      return type.kind
    case 'int':
    case 'long':
    case 'float':
    case 'double':
      return 'number'
    case 'int64':
      return 'bigint'
    case 'bytes':
    case 'fixed':
      return 'Buffer'
    case 'record':
    case 'enum':
      return unqualified(type.name)
    case 'array':
      return type.items.kind === 'union' ? `(${typeOf(type.items)})[]` : `${typeOf(type.items)}[]`
    case 'map':
      return `{ [key: string]: ${typeOf(type.values)} }`
    case 'union':
      return type.branches.map((branch) => (type.wrapped ? wrapped(branch) : typeOf(branch))).join(' | ')
  }
}

function wrapped(branch: AvroType): string {
  return branch.kind === 'null' ? 'null' : `{ ${JSON.stringify(branchName(branch))}: ${typeOf(branch)} }`
}

function docOf(doc: string | undefined, indent: string): string {
  return doc ? `${indent}/** ${doc.replaceAll('*/', '* /')} */\n` : ''
}
