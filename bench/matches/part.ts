import type { ValuesOf } from '../../scripts/command-line/command.ts'
import type { Say } from './rounds.ts'
import type declaration from './run.command.ts'
import type { MatchesSystem } from './system.ts'

/** Input of each part of the benchmark. */
export interface PartInput {
  readonly system: MatchesSystem
  readonly values: ValuesOf<typeof declaration>
  readonly folder: string
  readonly say: Say
}
