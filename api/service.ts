import type { Registry } from 'prom-client'
import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { AnyTopic } from '../schemas/topic.ts'
import type { SettingsFragment, Surroundings } from '../settings/fragment.ts'
import type { StateSettings } from '../state/settings.ts'
import type { TableReader } from '../state/tables/reader.ts'
import type { ListReader, ViewReader } from '../state/views/view.ts'
import type { TrustedProxies } from './kit/client-address.ts'
import type { Commands } from './kit/commands/commands.ts'
import type { KafkaFacts } from './kit/facts.ts'
import type { Logger } from './kit/logging.ts'
import type { HttpMetrics } from './kit/metrics.ts'
import type { RequestLimits } from './kit/rate-limits.ts'
import type { ReadinessProbe } from './kit/readiness.ts'
import type { FrontHandler } from './kit/server.ts'
import type { ServiceRoutes } from './kit/service-routes.ts'
import type { ValueReader } from './kit/shared-reads.ts'

/** What an API process has opened for all of its services. */
export interface ServiceKit {
  readonly views: ViewReader & ListReader
  /** For small values that are read very often: reads have no order among each other. */
  readonly sharedViews: ValueReader
  readonly tables: TableReader
  readonly facts: KafkaFacts
  readonly commands: Commands
  readonly trusted: TrustedProxies
  /** Base of absolute URLs. */
  readonly publicUrl: string
  readonly state: StateSettings
  readonly surroundings: Surroundings
  readonly metrics: HttpMetrics
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

/** What a guard is opened with. */
export interface GuardKit extends Pick<ServiceKit, 'facts' | 'trusted' | 'state' | 'log' | 'now' | 'monotonic'> {
  /** The process's own. It stays open. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly metrics: Registry
  /** Patterns of paths that the services of this process declare as limited. */
  readonly limitedPaths: readonly string[]
}

/** Decides about requests before they reach any service. */
export interface Guard {
  readonly requests: RequestLimits
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<void>
}

/** A port beside the API's own. */
export interface ExtraListener {
  /** The field of the log line `api_started` that holds its address. */
  readonly logField: string
  readonly port: number
  /** The setting that the port comes from, for messages. */
  readonly portSetting: string
  /** Takes the requests of this port; what it leaves goes to the app. */
  readonly front: FrontHandler
}

/** A running service. */
export interface OpenService extends ServiceRoutes {
  /** Takes requests to the API's own port before the app sees them. */
  readonly front?: FrontHandler
  readonly listeners?: readonly ExtraListener[]
  /** Called when no request runs any more, before the kit is closed. */
  close?(): Promise<unknown>
}

/** What the local stack, which runs several API processes on one machine, must know of a service. */
export interface LocalNeeds {
  /** Settings with a port that each process listens on: the local stack gives every process its own. */
  readonly ports: readonly string[]
  /** Settings where the user gives none. @param first the ports of the first API process */
  env(first: Readonly<Record<string, number>>): Readonly<Record<string, string>>
}

/** A command for newcomers to try. */
export interface Example {
  readonly what: string
  readonly command: string
}

/**
 * Describes one service to an API process. A description is light: it loads no code of the service, since everything that derives from the
 * list of services reads all descriptions. `open` loads the code.
 */
export interface ApiService<Settings = unknown, OwnGuard extends Guard = Guard> {
  /** As `API_SERVICES` names it. */
  readonly name: string
  readonly settings: SettingsFragment<Settings>
  /** Topics that it publishes to, or whose partitions its views and tables have. */
  readonly topics: readonly AnyTopic[]
  /** Paths of this service that rate limits cover. Unknown addresses that match count too. */
  readonly limitedPaths: readonly string[]
  /** `npm start` shows them. @param api the API's address */
  examples(api: string): readonly Example[]
  readonly local?: LocalNeeds
  /** Opens what guards all services of a process, even where the process leaves this one out. One service has it. */
  openGuard?(kit: GuardKit): Promise<OwnGuard>
  /** @param guard the guard of the process */
  open(kit: ServiceKit, settings: Settings, guard: OwnGuard): Promise<OpenService>
}
