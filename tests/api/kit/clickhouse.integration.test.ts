import { expect, onTestFinished, test } from 'vitest'
import { connectTables } from '../../../api/kit/clickhouse.ts'
import { errors } from '../../../api/kit/errors.ts'
import { readRows } from '../../../state/tables/reader.ts'
import { testDatabase } from '../../state/tables/database.ts'

/** As an array, the numbers take 800 MB, which is more memory than a query may use. */
const TOO_MANY = 100_000_000

async function tables() {
  const { url, database } = await testDatabase()
  const opened = connectTables({ url, database, username: 'default', password: '' })
  onTestFinished(opened.close)
  return opened
}

test('a query that needs too much memory is aborted, and the error says so', async () => {
  const { reader } = await tables()
  const query = 'SELECT length(groupArray(number)) FROM numbers({count:UInt64})'
  expect(await readRows(reader, query, { count: 1_000 })).toEqual([[1_000]])
  await expect(readRows(reader, query, { count: TOO_MANY })).rejects.toMatchObject({ definition: errors.query_too_large })
})

test('a query gets at most two threads', async () => {
  const { reader } = await tables()
  expect(await readRows(reader, "SELECT value FROM system.settings WHERE name = 'max_threads'", {})).toEqual([['2']])
})
