import type { LocalConfig } from './config.ts'
import type { Home } from './home.ts'
import type { RunPart } from './run-file.ts'

/** What a newcomer reads when everything runs: what runs where, and what to type next. */
export function summary(config: LocalConfig, home: Home, parts: readonly RunPart[]): string {
  const running = parts.map(({ name, address, logFile }) => [name, address, logFile ?? '(given)'])
  return `
What runs where
${columns(running)}

What to try
${columns(suggestions(`http://localhost:${config.apiPort}`, home.path))}
Ctrl-C stops everything.`
}

function suggestions(api: string, home: string): string[][] {
  return [
    ['worldwide trends', `curl '${api}/v1/trends?woeid=1'`],
    ['New York', `curl '${api}/v1/trends?woeid=2459115'`],
    ['the 551 places', `curl '${api}/v1/trends/available'`],
    ['a short link', `curl -d '{"long_url":"https://example.com/"}' -H 'content-type: application/json' ${api}/api/v1/urls`],
    ['a snippet', `curl -F content=@README.md ${api}/api/v1/pastes`],
    ['every endpoint', `open ${api}/docs`],
    ['a token', 'npm run token -- --sub 42'],
    ['health, lag', `npm run status   (data and logs: ${home})`],
  ]
}

/** Rows under each other; the last column is ragged. */
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
