import type { ClickHouseClient } from '@clickhouse/client'
import { type ClusterOptions, createStatement, ddlParts, engineOf, type TableDefinition } from './table.ts'

/**
 * Table that records the applied migrations of each table. A table that was dropped and created again has a different
 * identity, so the records of the dropped table do not apply to it.
 */
const MIGRATIONS_TABLE = 'table_migrations'

export interface MigrateDeps {
  readonly client: ClickHouseClient
  /** Generates unique text for a new table; pass crypto.randomUUID. */
  readonly newIdentity: () => string
}

/**
 * Creates the table if it does not exist, or migrates an older one. Then executes its derived statements. Several sinks
 * may run this concurrently, so every statement must be idempotent (IF NOT EXISTS).
 * @returns the table's identity
 */
export async function migrateTable(table: TableDefinition<never, never>, cluster: ClusterOptions, deps: MigrateDeps): Promise<string> {
  const identity = await ownTable(table, cluster, deps)
  for (const query of table.derived?.(cluster) ?? []) await deps.client.command({ query })
  return identity
}

async function ownTable(
  table: TableDefinition<never, never>,
  cluster: ClusterOptions,
  { client, newIdentity }: MigrateDeps,
): Promise<string> {
  const { onCluster } = ddlParts(cluster)
  await client.command({
    query: `CREATE TABLE IF NOT EXISTS ${MIGRATIONS_TABLE}${onCluster} (table_name String, identity String, migration String, applied_at DateTime DEFAULT now())
ENGINE = ${engineOf('MergeTree', cluster)}
ORDER BY (table_name, identity, migration)`,
  })
  const { migrations = [] } = table
  const existing = await identityOf(client, table.name)
  if (existing === undefined) {
    await client.command({ query: createStatement(table, newIdentity(), cluster) })
    // If another sink has created the table first, that sink's identity applies.
    const identity = (await identityOf(client, table.name)) as string
    for (const { id } of migrations) await record(id, identity)
    return identity
  }
  const applied = await appliedTo(existing)
  for (const { id, statements } of migrations) {
    if (applied.has(id)) continue
    for (const query of statements(ddlParts(cluster))) await client.command({ query })
    await record(id, existing)
  }
  return existing

  async function appliedTo(identity: string): Promise<Set<string>> {
    const result = await client.query({
      query: `SELECT migration FROM ${MIGRATIONS_TABLE} WHERE table_name = {name:String} AND identity = {identity:String}`,
      query_params: { name: table.name, identity },
      format: 'JSONEachRow',
    })
    return new Set((await result.json<{ migration: string }>()).map(({ migration }) => migration))
  }

  async function record(migration: string, identity: string): Promise<void> {
    await client.insert({
      table: MIGRATIONS_TABLE,
      values: [{ table_name: table.name, identity, migration }],
      format: 'JSONEachRow',
      clickhouse_settings: { async_insert: 0 },
    })
  }
}

async function identityOf(client: ClickHouseClient, name: string): Promise<string | undefined> {
  const result = await client.query({
    query: 'SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = {name:String}',
    query_params: { name },
    format: 'JSONEachRow',
  })
  const [row] = await result.json<{ comment: string }>()
  return row?.comment
}
