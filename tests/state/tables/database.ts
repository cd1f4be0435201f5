import type { ClickHouseClient } from '@clickhouse/client'
import { onTestFinished } from 'vitest'
import { connectSinkClickhouse } from '../../../state/tables/connect.ts'
import { testStack, uniqueName } from '../../stack/index.ts'

interface Database {
  readonly url: string
  readonly database: string
  readonly client: ClickHouseClient
}

/** Creates a database for this test on the shared ClickHouse and drops it when the test ends. */
export async function testDatabase(): Promise<Database> {
  const { drop, ...created } = await createDatabase()
  onTestFinished(drop)
  return created
}

/** Creates a database for several tests on the shared ClickHouse. */
export async function createDatabase(): Promise<Database & { drop(): Promise<void> }> {
  const url = await testStack().clickhouse()
  const database = uniqueName('sink').replaceAll('-', '_')
  const admin = connectSinkClickhouse({ url })
  await admin.command({ query: `CREATE DATABASE ${database}` })
  const client = connectSinkClickhouse({ url, database })
  async function drop(): Promise<void> {
    await client.close()
    await admin.command({ query: `DROP DATABASE ${database}` })
    await admin.close()
  }
  return { url, database, client, drop }
}

export async function rowsOf<Row>(client: ClickHouseClient, query: string): Promise<Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow' })
  return result.json<Row>()
}
