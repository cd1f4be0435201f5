import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
/** What a run of the simulation loads. */
const SOURCES = [
  'kafka',
  'pipelines/engine',
  'pipelines/trends',
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

/** Returns the file of the reduced plan that showed the mutation. */
export function planOf(name: string): string {
  return join(import.meta.dirname, `${name}.json`)
}

/**
 * Returns the topology that must show the mutation. The first line of the patch may name a topology; by default, it is
 * the counter.
 */
function topologyOf(name: string): string {
  return /^topology: (\w+)\n/.exec(readFileSync(join(import.meta.dirname, `${name}.patch`), 'utf8'))?.[1] ?? 'counter'
}

/** A copy of the sources, which has one mutation at a time. */
export interface MutatedSources {
  /**
   * Runs the simulation with a mutation: first the plan that is stored for the mutation, then seeds, until an output is
   * wrong.
   * @returns what the run printed; undefined when no output was wrong
   * @throws Error when the patch does not apply any more
   */
  run(name: string, seeds: number): string | undefined
  /** Deletes the copy. */
  delete(): void
}

/** Copies the sources once for all mutations, so that a run compiles only the changed file. */
export function mutatedSources(): MutatedSources {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mutation-'))
  for (const source of [...SOURCES, ...FILES]) cpSync(join(ROOT, source), join(folder, source), { recursive: true, force: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compile-cache') }

  function apply(name: string, ...options: string[]): void {
    const patch = join(import.meta.dirname, `${name}.patch`)
    execFileSync('git', ['apply', '--unsafe-paths', ...options, patch], { cwd: folder, stdio: 'pipe' })
  }

  /** @returns the output of the command if an output of the simulation is wrong */
  function simulate(...options: string[]): string | undefined {
    const args = [join(folder, 'tests/simulation/run.ts'), ...options]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    if (stdout === '') throw new Error(`the mutated simulation does not run: ${stderr}`)
    return status === 0 ? undefined : stdout
  }

  return {
    run(name, seeds) {
      apply(name)
      try {
        const search = ['--topology', topologyOf(name), '--seeds', String(seeds), '--until-wrong']
        return (existsSync(planOf(name)) ? simulate('--plan', planOf(name)) : undefined) ?? simulate(...search)
      } finally {
        apply(name, '--reverse')
      }
    },
    delete: () => rmSync(folder, { recursive: true }),
  }
}
