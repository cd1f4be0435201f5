import { expect, test } from 'vitest'
import { identifier, literal, MultiStatementError, readStatement } from '../../../../deploy/local/clickhouse/sql.ts'

const INSERT = { kind: 'insert-data', settings: '', head: 'INSERT INTO t ' }

test.each([
  ['INSERT INTO t FORMAT JSONEachRow', { ...INSERT, format: 'JSONEachRow', dataStart: 32 }],
  ['INSERT INTO t FORMAT JSONEachRow\n{"a":1}', { ...INSERT, format: 'JSONEachRow', dataStart: 33 }],
  ['INSERT INTO t FORMAT JSONEachRow {"a":1}', { ...INSERT, format: 'JSONEachRow', dataStart: 33 }],
  ['INSERT INTO t FORMAT CSV\n\nx', { ...INSERT, format: 'CSV', dataStart: 25 }],
  ['INSERT INTO t VALUES', { ...INSERT, format: 'Values', dataStart: 20 }],
  [
    'insert into t settings async_insert = 0 format CSV',
    { kind: 'insert-data', head: 'insert into t ', settings: 'settings async_insert = 0 ', format: 'CSV', dataStart: 50 },
  ],
  [
    '/* why; */ INSERT INTO t -- FORMAT x\nFORMAT CSV',
    { kind: 'insert-data', format: 'CSV', dataStart: 47, settings: '', head: expect.anything() },
  ],
  [
    'INSERT INTO `format` (`values`, "format") FORMAT CSV',
    { kind: 'insert-data', format: 'CSV', dataStart: 52, settings: '', head: expect.anything() },
  ],
  ["INSERT INTO t VALUES (1, 'a;b')", { kind: 'query', format: undefined }],
  ['INSERT INTO t SELECT 1 FORMAT Null', { kind: 'query', format: 'Null' }],
  ['INSERT INTO t WITH 1 AS x SELECT x', { kind: 'query', format: undefined }],
  ["INSERT INTO t FROM INFILE 'x' FORMAT CSV", { kind: 'query', format: 'CSV' }],
  ['SELECT 1 FORMAT JSON', { kind: 'query', format: 'JSON' }],
  ["SELECT ';', 'it''s', 'a\\';', \"x;\", `y;`, $$;$$, $tag$ ; $$ $tag$;", { kind: 'query', format: undefined }],
  ['SELECT 1; -- done\n;', { kind: 'query', format: undefined }],
  ['SELECT format FROM t', { kind: 'query', format: 'FROM' }],
  [' -- nothing\n', { kind: 'empty' }],
  ['', { kind: 'empty' }],
])('%j is parsed', (sql, expected) => {
  expect(readStatement(sql)).toEqual(expected)
})

test.each(['SELECT 1; SELECT 2', "SELECT 'a'; DROP TABLE t", 'SELECT 1 /* ; */ ; x'])(
  'a second statement in a request is refused: %s',
  (sql) => {
    expect(() => readStatement(sql)).toThrow(MultiStatementError)
  },
)

test('everything after the FORMAT clause of an INSERT is data, never a statement', () => {
  expect(readStatement('INSERT INTO t FORMAT CSV\n1; DROP TABLE t')).toMatchObject({ kind: 'insert-data', format: 'CSV' })
})

test('the parser accepts a string of one megabyte', () => {
  expect(readStatement(`SELECT '${"x''".repeat(350_000)}'`)).toEqual({ kind: 'query', format: undefined })
})

test('literals and identifiers are quoted', () => {
  expect(literal("it's \\ \0")).toBe("'it\\'s \\\\ \\0'")
  expect(identifier('a`b\\')).toBe('`a\\`b\\\\`')
})
