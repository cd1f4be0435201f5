import type { SettingsFragment } from '../settings/fragment.ts'
import type { OptionalServer } from '../state/optional-servers.ts'
import type { Runner, Topology } from './engine/index.ts'
import type { SinkContext, SinkDeclaration } from './sinks.ts'

/**
 * The role of a worker. `deciding` workers run the topologies and sinks that callers wait for; `bulk` workers run
 * everything else.
 */
export type WorkerRole = 'bulk' | 'deciding'

/** Folders that the workers of a machine share. */
export interface WorkerPlace {
  /** Folder for the state of all worker slots of this machine. */
  readonly stateDir: string
}

/** A part of a service that runs in workers of one role. A service may have several parts with the same role. */
export interface PipelineService<Settings = unknown, Resources = unknown> {
  /** The name in `PIPELINES`. */
  readonly name: string
  readonly role: WorkerRole
  readonly settings: SettingsFragment<Settings>
  /**
   * Opens the secrets and files that processors and sinks use. Called once when a worker starts.
   * @throws Error that names the wrong setting
   */
  prepare?(settings: Settings, place: WorkerPlace): Resources
  /**
   * Declares the service's topologies. Provisioning calls this function as well, without resources, so only processors
   * may call `resources`.
   * @param resources returns the result of `prepare`
   */
  topologies(resources: () => Resources): readonly Topology[]
  /** Sinks that copy the service's topics into external databases, or deliver their records to receivers. */
  readonly sinks: readonly SinkDeclaration<Resources>[]
  /** The optional servers that this service uses. */
  readonly optionalServers?: readonly OptionalServer[]
  /**
   * Opens the jobs that run in addition to topologies and sinks. Every worker process of this service calls this
   * function; `inFirstSlot` restricts a job to one process of each machine.
   */
  jobs?(context: SinkContext): readonly Runner[]
}

/** Declares the topologies of a service without running them. */
export function declaredTopologies(service: PipelineService): readonly Topology[] {
  return service.topologies(() => {
    throw new Error(`${service.name}: resources were used while the topologies were only being declared`)
  })
}
