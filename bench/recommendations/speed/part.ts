import type { ValuesOf } from '../../../scripts/command-line/command.ts'
import type { Say } from '../../matches/rounds.ts'
import type declaration from './run.command.ts'
import type { World } from './world.ts'

/** Input of a part of the benchmark. */
export interface PartInput {
  readonly world: World
  /** Folder of the bundle. */
  readonly bundle: string
  readonly values: ValuesOf<typeof declaration>
  readonly folder: string
  readonly say: Say
}
