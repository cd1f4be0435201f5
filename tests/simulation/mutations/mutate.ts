import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
/** The folders and files that a run of the simulation loads. */
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
/**
 * How many other delays `findPlan` tries with the stored plan. A reduced plan often reveals its mutation again after a
 * few of them.
 */
const FURTHER_DELAYS = 500
const FILES = ['package.json', 'pipelines/service.ts', 'tests/chaos/expected.ts', 'tests/chaos/shop.ts']

/**
 * Returns the names of all mutations. Each mutation is a patch that removes one protection from the engine or the
 * client.
 */
export function mutations(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.patch'))
    .map((name) => basename(name, '.patch'))
}

/** Returns the path of the reduced plan that reveals the mutation. */
export function planOf(name: string): string {
  return join(import.meta.dirname, `${name}.json`)
}

/**
 * Returns the topology that must reveal the mutation. The first line of the patch may name it; the default is the
 * counter.
 */
function topologyOf(name: string): string {
  return /^topology: (\w+)\n/.exec(readFileSync(join(import.meta.dirname, `${name}.patch`), 'utf8'))?.[1] ?? 'counter'
}

/** A copy of the sources. One mutation at a time is applied to it. */
export interface MutatedSources {
  /**
   * Runs the stored plan of a mutation with this mutation.
   * @returns what the run printed
   * @throws Error if the patch no longer applies, or if the mutated simulation does not run
   */
  run(name: string): string
  /**
   * Looks for a plan that reveals a mutation: first the stored plan with other delays, then the plans of up to `seeds`
   * seeds.
   * @returns the reduced plan as JSON, or undefined if no output was wrong
   * @throws Error as `run` does
   */
  findPlan(name: string, seeds: number): string | undefined
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

  function simulate(...options: string[]): string {
    const args = [join(folder, 'tests/simulation/run.ts'), ...options]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    if (stdout === '') throw new Error(`the mutated simulation does not run: ${stderr}`)
    return stdout
  }

  function reducedPlan(...plans: string[]): string | undefined {
    return /^\{.*\}$/m.exec(simulate(...plans, '--until-wrong', '--shrink'))?.[0]
  }

  function mutated<T>(name: string, work: () => T): T {
    apply(name)
    try {
      return work()
    } finally {
      apply(name, '--reverse')
    }
  }

  return {
    run: (name) => mutated(name, () => simulate('--plan', planOf(name))),
    findPlan(name, seeds) {
      const further = ['--plan', planOf(name), '--seeds', String(FURTHER_DELAYS)]
      return mutated(
        name,
        () =>
          (existsSync(planOf(name)) ? reducedPlan(...further) : undefined) ??
          reducedPlan('--topology', topologyOf(name), '--seeds', String(seeds)),
      )
    },
    delete: () => rmSync(folder, { recursive: true }),
  }
}
