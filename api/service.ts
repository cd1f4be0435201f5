import type { Registry } from 'prom-client'
import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { AnyTopic } from '../schemas/topic.ts'
import type { SettingsFragment, Surroundings } from '../settings/fragment.ts'
import type { OptionalServer } from '../state/optional-servers.ts'
import type { StateSettings } from '../state/settings.ts'
import type { TableReader } from '../state/tables/reader.ts'
import type { BinaryReader, ListReader, ScoreReader, ViewReader, ViewScripts } from '../state/views/view.ts'
import type { TrustedProxies } from './kit/client-address.ts'
import type { Commands } from './kit/commands/commands.ts'
import type { KafkaFacts } from './kit/facts.ts'
import type { Logger } from './kit/logging.ts'
import type { HttpMetrics } from './kit/metrics.ts'
import type { OpenPackedTable } from './kit/packed/open.ts'
import type { RequestLimits } from './kit/rate-limits.ts'
import type { ReadinessProbe } from './kit/readiness.ts'
import type { FrontHandler } from './kit/server.ts'
import type { ServiceRoutes } from './kit/service-routes.ts'
import type { SharedReader } from './kit/shared-reads.ts'
import type { OpenSmallTable } from './kit/small-table/open.ts'
import type { OpenFeedSnapshot } from './kit/snapshots/feed-snapshot.ts'
import type { OpenTopicFeed } from './kit/topic-feed.ts'
import type { WatchedViews } from './kit/watched/watched-keys.ts'

/** The resources that an API process opens once and shares among its services. */
export interface ServiceKit {
  readonly views: ViewReader & ListReader & ScoreReader & BinaryReader
  /** Combines reads of small values that are needed very often. Reads of one event loop turn may be reordered. */
  readonly sharedViews: SharedReader
  /** Reads values, and has Redis report when they change. While nothing changes, results need not be read again. */
  readonly watchedViews: WatchedViews
  /** Runs scripts in Redis, on data of the views and on data that the API itself keeps. */
  readonly scripts: ViewScripts
  readonly tables: TableReader
  readonly facts: KafkaFacts
  readonly commands: Commands
  /** Opens in-memory tables for millions of small entries, with snapshots on disk. The service must close them. */
  readonly packedTables: OpenPackedTable
  /** Opens in-memory tables for a few objects, with snapshots on disk. The service must close them. */
  readonly smallTables: OpenSmallTable
  /** Reads topics into the service's own structures, such as columns. The service must close the feeds. */
  readonly topicFeeds: OpenTopicFeed
  /** Opens snapshots of structures that feeds fill, so that a process need not read whole topics when it starts. */
  readonly feedSnapshots: OpenFeedSnapshot
  readonly trusted: TrustedProxies
  /** Base of the absolute URLs in answers. */
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

/** The resources that `openGuard` receives. */
export interface GuardKit extends Pick<ServiceKit, 'facts' | 'trusted' | 'state' | 'log' | 'now' | 'monotonic'> {
  /** The transport of the process. It stays open when the guard closes. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly metrics: Registry
  /** Path patterns that rate limits cover, from all services of this process. */
  readonly limitedPaths: readonly string[]
}

/** Decides whether requests may reach a service. */
export interface Guard {
  readonly requests: RequestLimits
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<void>
}

/** A port in addition to the API's own. */
export interface ExtraListener {
  /** The field of the log line `api_started` that contains the address of the port. */
  readonly logField: string
  readonly port: number
  /** The setting for the port. Error messages name this setting. */
  readonly portSetting: string
  /** Receives the requests on this port first. Requests that this handler does not handle go to the app. */
  readonly front: FrontHandler
}

export interface OpenService extends ServiceRoutes {
  /** Handles requests on the API's own ports, with and without TLS, before the app does. */
  readonly front?: FrontHandler
  readonly listeners?: readonly ExtraListener[]
  /**
   * Names of the process's probes that report dependencies which this service can do without. The process stays ready
   * while these probes fail, because its callers would otherwise have no service at all.
   */
  readonly worksWithout?: readonly string[]
  /**
   * Called after the drain delay, when the process begins to close its ports. The service must end answers that would
   * stay open, because the process waits for open answers.
   */
  stopping?(): void
  /** Called after all ports are closed, before the kit closes. */
  close?(): Promise<unknown>
}

/** What a service needs in the local stack. The local stack runs several API processes on one machine. */
export interface LocalNeeds {
  /** Settings for the ports that each process listens on. The local stack gives each process different ports. */
  readonly ports: readonly string[]
  /**
   * Returns the default values of settings in the local stack.
   * @param first the ports of the first API process
   */
  env(first: Readonly<Record<string, number>>): Readonly<Record<string, string>>
}

/** A command that a new user can try. */
export interface Example {
  readonly what: string
  readonly command: string
}

/**
 * Describes one service to an API process. A description must not import the service's code, because every program that
 * uses the list of services loads all descriptions. `open` imports the code.
 */
export interface ApiService<Settings = unknown, OwnGuard extends Guard = Guard> {
  /** The name in `API_SERVICES`. */
  readonly name: string
  readonly settings: SettingsFragment<Settings>
  /** Topics that the service reads or publishes to, or whose partitioning its views and tables follow. */
  readonly topics: readonly AnyTopic[]
  /**
   * Path patterns of this service that rate limits cover. Paths without a route are covered as well if they match a
   * pattern.
   */
  readonly limitedPaths: readonly string[]
  /**
   * Returns commands that `npm start` suggests.
   * @param api the API's base URL
   */
  examples(api: string): readonly Example[]
  readonly local?: LocalNeeds
  /** Servers that the service uses in addition to the servers that every service may use. */
  readonly optionalServers?: readonly OptionalServer[]
  /**
   * Opens the guard of all services in a process, even if this service does not run in that process. Only one service
   * has this method.
   */
  openGuard?(kit: GuardKit): Promise<OwnGuard>
  /**
   * Opens the service.
   * @param guard the guard of the process; undefined if no service in the list has a guard
   */
  open(kit: ServiceKit, settings: Settings, guard: OwnGuard | undefined): Promise<OpenService>
}
