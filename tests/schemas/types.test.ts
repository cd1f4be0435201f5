import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { typescriptOf } from '../../schemas/avro/typescript.ts'
import { loadSchema, schemaFolders } from '../../schemas/load.ts'

/** The test starts the formatter directly, because npx alone would take longer than the formatter. */
const BIOME = join(import.meta.dirname, '../../node_modules/@biomejs/biome/bin/biome')

test.each([...schemaFolders()])('schemas/%s/types.ts matches the schemas; otherwise run npm run schemas', (folder, files) => {
  const generated = fileURLToPath(new URL(`../../schemas/${folder}/types.ts`, import.meta.url))
  const source = typescriptOf(files.map((file) => ({ file, schema: loadSchema(file) })))
  const formatted = execFileSync(process.execPath, [BIOME, 'format', `--stdin-file-path=${generated}`], {
    input: source,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  expect(readFileSync(generated, 'utf8')).toBe(formatted)
})

test('one name for two different types is refused', () => {
  const one = { type: 'record', name: 'A', fields: [{ name: 'x', type: 'int' }] }
  const other = { type: 'record', name: 'A', fields: [{ name: 'y', type: 'int' }] }
  const files = [
    { file: 'one', schema: one },
    { file: 'other', schema: other },
  ]
  expect(() => typescriptOf(files)).toThrow('other.avsc declares A differently from an earlier file')
})

test('a schema that is not a record is refused', () => {
  expect(() => typescriptOf([{ file: 'one', schema: 'string' }])).toThrow('one.avsc is not a record')
})

test('Avro types map to TypeScript types', () => {
  const schema = {
    type: 'record',
    name: 'All',
    doc: 'closes */ nothing',
    fields: [
      { name: 'a', type: 'bytes' },
      { name: 'b', type: ['null', 'int', 'string'] },
      { name: 'c', type: ['int', 'double', 'null'] },
      { name: 'd', type: { type: 'array', items: ['null', 'int'] } },
      { name: 'e', type: { type: 'map', values: { type: 'fixed', name: 'F', size: 2 } } },
      { name: 'f', type: { type: 'long', logicalType: 'int64' } },
      { name: 'g', type: { type: 'long', logicalType: 'timestamp-millis' } },
      { name: 'h', type: { type: 'enum', name: 'E', symbols: ['X', 'Y'] } },
      { name: 'i', type: 'boolean' },
    ],
  }
  const source = typescriptOf([{ file: 'All', schema }])
  expect(source).toContain('/** closes * / nothing */')
  for (const line of [
    'a: Buffer',
    'b: null | number | string',
    'c: { "int": number } | { "double": number } | null',
    'd: (null | number)[]',
    'e: { [key: string]: Buffer }',
    'f: bigint',
    'g: number',
    'h: E',
    'i: boolean',
    "export type E = 'X' | 'Y'",
  ]) {
    expect(source).toContain(line)
  }
})
