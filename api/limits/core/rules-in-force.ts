import type { LimitRule } from '../../../schemas/limits/rule.ts'
import { compileRules, type RuleTable } from './matching.ts'

/** The rules that requests are decided by, compiled between requests. */
export interface RulesInForce {
  /** undefined: not read yet. */
  table(): RuleTable | undefined
  /** All were read for the first time. */
  ready(): void
  /** One of them is another one now. */
  changed(): void
  /** True: every change so far is in the table. */
  readonly isCurrent: boolean
  close(): void
}

export interface RulesInForceOptions {
  /** Throws while they are not read yet. */
  allRules(): Iterable<LimitRule>
  /** Runs something later. @returns how to stop that */
  schedule(run: () => void, ms: number): () => void
}

/** Changes that come together are compiled together: ten thousand rules take some 20 ms, and every request waits for it. */
const COMPILE_AFTER_MS = 20

export function rulesInForce({ allRules, schedule }: RulesInForceOptions): RulesInForce {
  let compiled: RuleTable | undefined
  let stop: (() => void) | undefined

  function compile(): void {
    stop = undefined
    compiled = compileRules(allRules())
  }

  return {
    table: () => compiled,
    ready: compile,
    changed() {
      // Whoever has read some of the rules knows nothing of the others.
      if (compiled !== undefined) stop ??= schedule(compile, COMPILE_AFTER_MS)
    },
    get isCurrent() {
      return stop === undefined
    },
    close() {
      stop?.()
    },
  }
}
