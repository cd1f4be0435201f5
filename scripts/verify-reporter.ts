import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'

/** What a test run came to, for the last lines of `npm test`. */
export interface TestTotals {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
  /** Passed, but not at the first try. */
  readonly repeated: readonly string[]
  /** Of each test, and of what each file does before and after its tests. */
  readonly durations: readonly { readonly name: string; readonly ms: number }[]
}

/** It runs files a second time in order to skip what needs public data: that is no news. */
const SKIPS_ON_PURPOSE = 'without-data'

/** Writes the totals of a vitest run into a file. Given in the command line of vitest, which makes it with `outputFile`. */
export default class VerifyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[], reason: TestRunEndReason): void {
    let passed = 0
    // An error outside a test, and a file that cannot be loaded, are failures of their own.
    let failed = unhandled.length + (reason === 'interrupted' ? 1 : 0)
    const skipped: { name: string; reason: string }[] = []
    const repeated: string[] = []
    const durations: { name: string; ms: number }[] = []
    for (const module of modules) {
      failed += module.errors().length
      let ofHooks = module.diagnostic().duration
      for (const test of module.children.allTests()) {
        const result = test.result()
        const diagnostic = test.diagnostic()
        const name = `${module.relativeModuleId}: ${test.fullName}`
        const ms = diagnostic?.duration ?? 0
        durations.push({ name, ms })
        ofHooks -= ms
        if (diagnostic?.flaky) repeated.push(name)
        if (result.state === 'passed') passed++
        else if (result.state === 'skipped') {
          if (module.project.name !== SKIPS_ON_PURPOSE) skipped.push({ name, reason: result.note ?? 'no reason given' })
        } else failed++
      }
      durations.push({ name: `${module.relativeModuleId}: before and after its tests`, ms: Math.max(0, ofHooks) })
    }
    writeFileSync(totalsFile(), JSON.stringify({ passed, failed, skipped, repeated, durations } satisfies TestTotals))
  }
}

function totalsFile(): string {
  const path = process.argv.find((argument) => argument.startsWith(TOTALS_ARGUMENT))?.slice(TOTALS_ARGUMENT.length)
  if (path === undefined) throw new Error(`no ${TOTALS_ARGUMENT} in the command line`)
  return path
}

const TOTALS_ARGUMENT = '--outputFile.totals='
