import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
/** What a run of the simulation loads. */
const SOURCES = [
  'kafka',
  'pipelines/engine',
  'runtime',
  'schemas',
  'scripts/command-line',
  'settings',
  'state',
  'tests/simulation',
  'tools/random',
]
const FILES = ['package.json', 'pipelines/service.ts', 'tests/chaos/expected.ts', 'tests/chaos/shop.ts']

/** Returns the names of all mutations: patches that each remove a protection from the engine or the client. */
export function mutations(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.patch'))
    .map((name) => basename(name, '.patch'))
}

/**
 * Runs the simulation on a copy of the sources with a mutation, until an output is wrong.
 * @returns what the run printed; undefined when no output was wrong
 * @throws Error when the patch does not apply any more
 */
export function runMutated(name: string, seeds: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mutation-'))
  try {
    for (const source of [...SOURCES, ...FILES]) cpSync(join(ROOT, source), join(folder, source), { recursive: true, force: true })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    execFileSync('git', ['apply', '--unsafe-paths', join(import.meta.dirname, `${name}.patch`)], { cwd: folder, stdio: 'pipe' })
    const args = [join(folder, 'tests/simulation/run.ts'), '--seeds', String(seeds), '--until-wrong']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (stdout === '') throw new Error(`the mutated simulation does not run: ${stderr}`)
    return status === 0 ? undefined : stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}
