import type { LimitRule } from '../../../schemas/limit-rule.ts'
import { compileRules, type RuleTable } from './matching.ts'
import { normalisedPattern } from './normalised-path.ts'

/** The compiled rules that decide requests. Changed rules are compiled between requests. */
export interface RulesInForce {
  /** Returns the rules; undefined if not all of them have been read yet. */
  table(): RuleTable | undefined
  /** Compiles the rules for the first time. Must be called once, when all rules have been read. */
  ready(): void
  /**
   * Schedules a new compilation of the rules. Changes in quick succession share one compilation. Must be called when a
   * rule has changed.
   */
  changed(): void
  /** Whether the compiled table includes every change so far. */
  readonly isCurrent: boolean
  close(): void
}

export interface RulesInForceOptions {
  /** Returns all rules. Throws if they have not been read yet. */
  allRules(): Iterable<LimitRule>
  /**
   * Calls `run` after `ms`.
   * @returns a function that cancels the call
   */
  schedule(run: () => void, ms: number): () => void
}

/**
 * Changes within this time are compiled together. Compiling ten thousand rules takes about 20 ms, and requests wait
 * meanwhile.
 */
const COMPILE_AFTER_MS = 20

export function rulesInForce({ allRules, schedule }: RulesInForceOptions): RulesInForce {
  let compiled: RuleTable | undefined
  let stop: (() => void) | undefined

  function compile(): void {
    stop = undefined
    compiled = compileRules(normalisedRules(allRules()))
  }

  return {
    table: () => compiled,
    ready: compile,
    changed() {
      // Until all rules have been read, a table would lack some rules and give wrong decisions.
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

/** Normalises the patterns of stored rules, because releases before 2026-12-01 stored patterns in other encodings. */
function* normalisedRules(rules: Iterable<LimitRule>): Generator<LimitRule> {
  for (const rule of rules) {
    const endpoint_pattern = normalisedPattern(rule.endpoint_pattern)
    yield endpoint_pattern === rule.endpoint_pattern ? rule : { ...rule, endpoint_pattern }
  }
}
