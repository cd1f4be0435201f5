import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TableDefinition } from '../../state/tables/table.ts'

const ROOT = join(import.meta.dirname, '../..')

async function declaredTables(): Promise<TableDefinition<never, never>[]> {
  const modules = await Promise.all(globSync('state/tables/*/*.ts', { cwd: ROOT }).map((file) => import(join(ROOT, file))))
  const exported = modules.flatMap((module) => Object.values<unknown>(module))
  return exported.filter((value) => typeof value === 'object' && value !== null && 'partitionBy' in value) as TableDefinition<
    never,
    never
  >[]
}

/** Returns the documented sort order, which leaves out the Kafka columns. */
function sortOrder({ orderBy }: TableDefinition<never, never>): string {
  return orderBy.replace(/^\((.*)\)$/, '$1').replace(', kafka_partition, kafka_offset', '')
}

/** Returns the declared retention in the form that the docs use, such as `90 days`. */
function retention({ ttl }: TableDefinition<never, never>): string {
  const [, count, unit] = /INTERVAL (\d+) (\w+)/.exec(ttl ?? '') ?? []
  return count === undefined ? 'forever' : `${count} ${unit.toLowerCase()}s`
}

test('the page for analysts lists every table with its sort order and its retention', async () => {
  const page = readFileSync(join(ROOT, 'docs/tables.md'), 'utf8')
  const listed = [...page.matchAll(/^\| `(\w+)` \| .+ \| `(.+)` \| (.+) \|$/gm)].map(([, ...cells]) => cells)
  const tables = await declaredTables()
  expect(listed).toEqual(tables.map((table) => [table.name, sortOrder(table), retention(table)]).sort())
})
