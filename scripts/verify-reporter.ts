import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'

/** The result of a test run, for the last lines of `npm test`. */
export interface TestTotals {
  readonly passed: number
  /** Tests that failed at every attempt, and errors outside of tests, one entry each. */
  readonly failures: readonly Failure[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
  /** Tests that failed at first but passed when they were repeated, with the errors of their failed attempts. */
  readonly repeated: readonly Failure[]
  /** Durations of each test, and of the hooks of each file. */
  readonly durations: readonly { readonly name: string; readonly ms: number }[]
}

export interface Failure {
  readonly name: string
  readonly errors: readonly string[]
}

/**
 * A project that runs some files a second time without public data. Its tests that need the data are skipped on
 * purpose, so they are not reported.
 */
const SKIPS_ON_PURPOSE = 'without-data'

/**
 * Returns the path of a run's list of running test files. The list is used when the run does not finish. It is written
 * whenever a file starts, so files that have ended since the last start are still in the list.
 */
export function runningFile(totals: string): string {
  return `${totals}.running`
}

/**
 * A vitest reporter that writes the totals of a run to a file. The command line selects the reporter and passes
 * `outputFile`.
 */
export default class VerifyReporter implements Reporter {
  readonly #running = new Set<string>()

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#running.add(relativeModuleId)
    writeFileSync(runningFile(totalsFile()), JSON.stringify([...this.#running]))
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#running.delete(relativeModuleId)
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[], reason: TestRunEndReason): void {
    let passed = 0
    // Errors outside of tests count as failures, and so do files that cannot be loaded.
    const failures: Failure[] = unhandled.map((error) => ({ name: 'outside of tests', errors: [textOf(error)] }))
    if (reason === 'interrupted') failures.push({ name: 'the run', errors: ['The run was interrupted.'] })
    const skipped: { name: string; reason: string }[] = []
    const repeated: Failure[] = []
    const durations: { name: string; ms: number }[] = []
    for (const module of modules) {
      for (const error of module.errors()) failures.push({ name: module.relativeModuleId, errors: [textOf(error)] })
      let ofHooks = module.diagnostic().duration
      for (const test of module.children.allTests()) {
        const result = test.result()
        const diagnostic = test.diagnostic()
        const name = `${module.relativeModuleId}: ${test.fullName}`
        const errors = (result.errors ?? []).map(textOf)
        const ms = diagnostic?.duration ?? 0
        durations.push({ name, ms })
        ofHooks -= ms
        if (diagnostic?.flaky) repeated.push({ name, errors })
        if (result.state === 'passed') passed++
        else if (result.state === 'skipped') {
          if (module.project.name !== SKIPS_ON_PURPOSE) skipped.push({ name, reason: result.note ?? 'no reason given' })
        } else failures.push({ name, errors })
      }
      durations.push({ name: `${module.relativeModuleId}: before and after its tests`, ms: Math.max(0, ofHooks) })
    }
    writeFileSync(totalsFile(), JSON.stringify({ passed, failures, skipped, repeated, durations } satisfies TestTotals))
  }
}

function textOf(error: unknown): string {
  const { message, stack } = error as { message?: string; stack?: string }
  return stack ?? message ?? String(error)
}

function totalsFile(): string {
  const path = process.argv.find((argument) => argument.startsWith(TOTALS_ARGUMENT))?.slice(TOTALS_ARGUMENT.length)
  if (path === undefined) throw new Error(`no ${TOTALS_ARGUMENT} in the command line`)
  return path
}

const TOTALS_ARGUMENT = '--outputFile.totals='
