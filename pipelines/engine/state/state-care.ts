import type { Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { type TaskPlace, taskPlace } from '../task/task-place.ts'
import type { Declaration } from '../topology/declaration.ts'
import type { Topology } from '../topology/topology.ts'
import type { GroupView } from '../worker/group-view.ts'
import { partitionsOfPart } from '../worker/worker-topics.ts'
import { keptState } from './kept-state.ts'
import { type StandbyCopy, standbys } from './standby.ts'

/** What a worker does with state of tasks that it does not run: it keeps standby copies, and for a while what was left behind. */
export interface StateCare {
  /** Part of every turn of the loop. */
  attend(): Promise<void>
  /** A task is to run here: its state is now its own. */
  release(taskId: string): void
  copy(taskId: string): StandbyCopy | undefined
  copies(): readonly StandbyCopy[]
  close(): Promise<void>
}

export interface StateCareDeps {
  readonly topology: Topology
  readonly declaration: Declaration
  readonly partitionCounts: ReadonlyMap<string, number>
  readonly transport: Pick<Transport, 'offsets' | 'fetcher'>
  /** The copies' own session. */
  readonly session: StateSession
  readonly group: GroupView
  readonly memberId: () => string
  readonly runsHere: (taskId: string) => boolean
  readonly keepStateMs: number
  readonly exactlyOnce: boolean
  readonly runtime: Runtime
}

export function stateCare(deps: StateCareDeps): StateCare {
  const { topology, declaration, runsHere } = deps
  const copies = topology.options.standby ?? 0
  const partitionsOf = ({ part }: Pick<TaskPlace, 'part'>) => partitionsOfPart(topology.name, part.sources, deps.partitionCounts)
  const places = topology.subTopologies.flatMap((part) =>
    Array.from({ length: partitionsOf({ part }) }, (_, partition) => taskPlace(declaration, part, partition)),
  )
  const common = { ...deps, topology: topology.name, places }
  const standby = copies === 0 ? undefined : standbys({ ...common, copies, partitionsOf })
  const isUsed = (taskId: string) => runsHere(taskId) || standby?.copy(taskId) !== undefined
  const kept = keptState({ ...common, isUsed, keepMs: deps.keepStateMs })

  return {
    async attend() {
      await standby?.attend()
      kept.attend()
    },
    release: (taskId) => standby?.release(taskId),
    copy: (taskId) => standby?.copy(taskId),
    copies: () => standby?.all() ?? [],
    close: async () => standby?.close(),
  }
}
