import type { LimitRule } from '../../../schemas/limit-rule.ts'
import { compileRules, type RuleTable } from './matching.ts'

/** The compiled rules that decide requests. They are compiled between requests. */
export interface RulesInForce {
  /** undefined until all rules have been read. */
  table(): RuleTable | undefined
  /** Call it when all rules have been read for the first time. */
  ready(): void
  /** Call it when a rule has changed. */
  changed(): void
  /** Whether the table contains every change so far. */
  readonly isCurrent: boolean
  close(): void
}

export interface RulesInForceOptions {
  /** Throws until the rules have been read. */
  allRules(): Iterable<LimitRule>
  /** Runs something later. @returns a function that cancels it */
  schedule(run: () => void, ms: number): () => void
}

/** Changes within this time are compiled together: ten thousand rules take some 20 ms, during which requests wait. */
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
      // Until all rules have been read, a table of some of them would be wrong.
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
