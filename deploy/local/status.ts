import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { findChild } from './child.ts'
import { localConfig } from './config.ts'
import { isHealthy, reportedParts } from './health.ts'
import { findHome, lockHolder } from './home.ts'
import { pipelineLags } from './pipeline-lag.ts'
import { type RunPart, readRunFile } from './run-file.ts'
import { withoutPassword } from './servers.ts'
import declaration from './status.command.ts'

const MS_PER_MINUTE = 60_000
const COLUMNS = { name: 12, pid: 9, health: 12, address: 28 }

/**
 * Prints each part with its health and address, and the lag of every topology and sink.
 * @returns exit code 1 when a part is unhealthy, or the stack is not running or still starting
 */
async function main(): Promise<number> {
  commandLine(declaration)
  const { home: path } = localConfig()
  const home = findHome(path)
  const holder = home && lockHolder(home)
  if (!home || holder === undefined) {
    process.stdout.write(`No stack is running in ${path}. Start one with npm start.\n`)
    return 1
  }
  const run = readRunFile(home)
  // A killed start leaves its file behind, and the next start replaces the file only when everything is running.
  if (run?.pid !== holder) {
    process.stdout.write(`npm start (pid ${holder}) has not finished starting yet.\n`)
    return 1
  }
  const minutes = Math.floor((Date.now() - Date.parse(run.startedAt)) / MS_PER_MINUTE)
  process.stdout.write(`Millrace in ${path}, started ${run.startedAt} (${minutes} min ago) by pid ${run.pid}\n\n`)
  const states = await Promise.all(run.parts.map((part) => stateOf(part, home.run)))
  for (const { line } of states) process.stdout.write(`${line}\n`)
  const lags = await pipelineLags(run.parts.filter(({ kind }) => kind === 'worker').map(({ address }) => address))
  if (lags.length > 0) process.stdout.write('\n')
  for (const { name, records, places, restoring } of lags) {
    const restore = restoring > 0 ? `, ${restoring} tasks restoring` : ''
    process.stdout.write(`  lag of ${name}: ${records} records in ${places} partitions${restore}\n`)
  }
  return states.every(({ well }) => well) ? 0 : 1
}

async function stateOf(part: RunPart, runDir: string): Promise<{ part: RunPart; line: string; well: boolean }> {
  const given = part.logFile === undefined
  const pid = given ? undefined : findChild(runDir, part.name)?.pid
  const runs = given || pid !== undefined
  const well = runs && (await isHealthy(part.kind, part.address))
  const reasons =
    runs && (part.kind === 'worker' || part.kind === 'api')
      ? await reportedParts(part.operations ?? part.address, well ? 'degraded' : 'missing')
      : ''
  const health = well ? (reasons === '' ? 'ok' : 'degraded') : runs ? 'not ready' : 'not running'
  const columns = [
    part.name.padEnd(COLUMNS.name),
    (given ? 'external' : String(pid ?? '-')).padEnd(COLUMNS.pid),
    health.padEnd(COLUMNS.health),
    withoutPassword(part.address).padEnd(COLUMNS.address),
    part.logFile ?? '',
  ]
  return { part, well, line: `  ${columns.join(' ')}`.trimEnd() + reasons }
}

await runMain(main)
