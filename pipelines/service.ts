import type { SettingsFragment } from '../settings/fragment.ts'
import type { Runner, Topology } from './engine/index.ts'
import type { SinkContext, SinkDeclaration } from './sinks.ts'

/** `deciding`: callers wait for the commits of commands, so these run in workers of their own; `bulk`: everything else. */
export type WorkerRole = 'bulk' | 'deciding'

/** Where a worker keeps what its machine shares. */
export interface WorkerPlace {
  /** The folder of all worker slots of this machine. */
  readonly stateDir: string
}

/** Describes what runs for one service in workers of one role. A service has one description per role. */
export interface PipelineService<Settings = unknown, Resources = unknown> {
  /** As `PIPELINES` names it. */
  readonly name: string
  readonly role: WorkerRole
  readonly settings: SettingsFragment<Settings>
  /**
   * Opens what its processors use beside records: secrets, files. Called once when a worker starts.
   * @throws Error that says which setting is wrong
   */
  prepare?(settings: Settings, place: WorkerPlace): Resources
  /**
   * Declares its topologies. Provisioning declares them too, and has no resources, so that only processors may ask for these.
   * @param resources what `prepare` opened
   */
  topologies(resources: () => Resources): readonly Topology[]
  /** Copies of its topics into Redis and ClickHouse. */
  readonly sinks: readonly SinkDeclaration[]
  /** Opens what runs beside them in every worker process. */
  jobs?(context: SinkContext): readonly Runner[]
}

/** Declares the topologies of a service without running them. */
export function declaredTopologies(service: PipelineService): readonly Topology[] {
  return service.topologies(() => {
    throw new Error(`${service.name}: a topology that is only declared has no resources`)
  })
}
