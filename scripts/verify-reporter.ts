import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'

/** What a test run came to, for the last line of `npm test`. */
export interface TestTotals {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
  /** Passed, but not at the first try. */
  readonly repeated: readonly string[]
}

/** Writes the totals of a vitest run into a file. Given in the command line of vitest, which makes it with `outputFile`. */
export default class VerifyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[], reason: TestRunEndReason): void {
    let passed = 0
    // An error outside a test, and a file that cannot be loaded, are failures of their own.
    let failed = unhandled.length + (reason === 'interrupted' ? 1 : 0)
    const skipped: { name: string; reason: string }[] = []
    const repeated: string[] = []
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const result = test.result()
        const name = `${module.relativeModuleId}: ${test.fullName}`
        if (test.diagnostic()?.flaky) repeated.push(name)
        if (result.state === 'passed') passed++
        else if (result.state === 'skipped') {
          skipped.push({ name, reason: result.note ?? 'no reason given' })
        } else failed++
      }
    }
    writeFileSync(totalsFile(), JSON.stringify({ passed, failed, skipped, repeated } satisfies TestTotals))
  }
}

function totalsFile(): string {
  const path = process.argv.find((argument) => argument.startsWith(TOTALS_ARGUMENT))?.slice(TOTALS_ARGUMENT.length)
  if (path === undefined) throw new Error(`no ${TOTALS_ARGUMENT} in the command line`)
  return path
}

const TOTALS_ARGUMENT = '--outputFile.totals='
