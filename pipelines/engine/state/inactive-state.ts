import { type TaskPlace, taskPlace } from '../task/task-place.ts'
import type { Declaration } from '../topology/declaration.ts'
import type { SubTopology } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'
import { type SeenGroup, type StandbyCopy, type StandbyDeps, standbys } from './standby.ts'
import { stateCleaner } from './state-cleaner.ts'

/**
 * State on this worker that belongs to tasks of other workers: standby copies, and state that is kept for a while after
 * its task has moved away.
 */
export interface InactiveState {
  /**
   * Continues the standby copies, and deletes the state of tasks that moved away some time ago. Called in every turn of
   * the worker's loop.
   */
  maintain(): Promise<void>
  /**
   * Ends the standby copy of a task. Must be called before the task runs on this worker, because the copy and the task
   * must not both write to the state.
   */
  release(taskId: string): void
  copy(taskId: string): StandbyCopy | undefined
  copies(): readonly StandbyCopy[]
  /** Every task of the topology. */
  readonly places: readonly TaskPlace[]
  /**
   * The group's members when they were last fetched; undefined before the first fetch, and if the topology has neither
   * standby copies nor warm-ups.
   */
  readonly group: SeenGroup | undefined
  /** True while a copy receives records and still lacks many. The worker's loop should then not wait. */
  readonly catchingUp: boolean
  close(): Promise<void>
}

export interface InactiveStateDeps extends Omit<StandbyDeps, 'topology' | 'copies' | 'places' | 'partitionsOf'> {
  readonly topology: Topology
  readonly declaration: Declaration
  readonly tasksOf: (part: SubTopology) => number
  readonly keepStateMs: number
}

export function inactiveState(deps: InactiveStateDeps): InactiveState {
  const { topology, declaration, runsHere } = deps
  const copies = topology.options.standby ?? 0
  const partitionsOf = ({ part }: Pick<TaskPlace, 'part'>) => deps.tasksOf(part)
  const places = topology.subTopologies.flatMap((part) =>
    Array.from({ length: partitionsOf({ part }) }, (_, partition) => taskPlace(declaration, part, partition)),
  )
  const common = { ...deps, topology: topology.name, places }
  const warmUps = deps.warmUps && places.some(({ changelogs }) => changelogs.length > 0)
  const standby = copies === 0 && !warmUps ? undefined : standbys({ ...common, warmUps, copies, partitionsOf })
  const isUsed = (taskId: string) => runsHere(taskId) || standby?.copy(taskId) !== undefined
  const cleaner = stateCleaner({ ...common, isUsed, keepMs: deps.keepStateMs })

  return {
    async maintain() {
      await standby?.maintain()
      cleaner.cleanUp()
    },
    release: (taskId) => standby?.release(taskId),
    copy: (taskId) => standby?.copy(taskId),
    places,
    copies: () => standby?.all() ?? [],
    get group() {
      return standby?.group
    },
    get catchingUp() {
      return standby?.catchingUp === true
    },
    close: async () => standby?.close(),
  }
}
