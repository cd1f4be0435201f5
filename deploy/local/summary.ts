import { apiServices } from '../../api/services.ts'
import { splitList } from '../../settings/variables.ts'
import { CLICKHOUSE_USER, clickhousePassword } from './clickhouse/password.ts'
import type { LocalConfig } from './config.ts'
import type { Home } from './home.ts'
import type { RunPart } from './run-file.ts'
import { withoutPassword } from './servers.ts'

/**
 * Returns the text that `npm start` prints when the start has finished: the running parts, and commands to try next.
 */
export function summary(config: LocalConfig, home: Home, parts: readonly RunPart[]): string {
  const running = parts.map(({ name, address, logFile }) => [name, withoutPassword(address), logFile ?? '(external)'])
  return `
Running
${columns(running)}

What to try
${columns(suggestions(config, home))}
Ctrl-C stops everything.`
}

function suggestions(config: LocalConfig, home: Home): string[][] {
  const api = `http://localhost:${config.apiPort}`
  const running = config.apiServices === undefined ? undefined : splitList(config.apiServices)
  const services = apiServices.filter(({ name }) => running?.includes(name) ?? true)
  return [
    ...services.flatMap(({ examples }) => examples(api)).map(({ what, command }) => [what, command]),
    ['every endpoint', `open ${api}/docs`],
    ['a token', 'npm run token -- --sub 42'],
    ...tables(config, home),
    ['health, lag', `npm run status   (data and logs: ${home.path})`],
  ]
}

/** Returns an example query with the password of the local ClickHouse; nothing if ClickHouse is external. */
function tables({ clickhouse }: LocalConfig, home: Home): string[][] {
  if (clickhouse.given !== undefined) return []
  const user = `${CLICKHOUSE_USER}:${clickhousePassword(home)}`
  return [['the ClickHouse tables', `curl -u ${user} 'http://localhost:${clickhouse.port}/?query=SHOW+TABLES'`]]
}

/** Aligns rows in columns; the last column is not padded. */
function columns(rows: readonly string[][]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, column) => cell.padEnd(widths[column]))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n')
}
