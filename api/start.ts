import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { registryClient } from '../kafka/registry.ts'
import { systemTimers } from '../runtime/patient-timer.ts'
import { systemRuntime } from '../runtime/system.ts'
import type { ApiConfig } from './config.ts'
import { answerCache } from './kit/answer-cache.ts'
import { createApp } from './kit/app.ts'
import { keySetFor } from './kit/auth/key-source.ts'
import { tokenVerifier } from './kit/auth/verify.ts'
import { connectTables } from './kit/clickhouse.ts'
import { addressRanges } from './kit/client-address.ts'
import { closeAll } from './kit/close-all.ts'
import { createCommands } from './kit/commands/commands.ts'
import { redisBindings } from './kit/commands/idempotency.ts'
import { redisResultChannel } from './kit/commands/result-channel.ts'
import { connectionGate } from './kit/connections.ts'
import { directRoutes } from './kit/direct-routes.ts'
import { kafkaFacts } from './kit/facts.ts'
import { apiTransport } from './kit/kafka.ts'
import type { Logger } from './kit/logging.ts'
import { httpMetrics } from './kit/metrics.ts'
import { startOperationsServer } from './kit/operations-server.ts'
import { packedTableOpener } from './kit/packed/open.ts'
import { readiness } from './kit/readiness.ts'
import { connectViewRedis } from './kit/redis.ts'
import { type FrontHandler, type RunningServer, startServer } from './kit/server.ts'
import { sharedStart } from './kit/shared-start.ts'
import { smallTableOpener } from './kit/small-table/open.ts'
import { feedSnapshotOpener } from './kit/snapshots/feed-snapshot.ts'
import { diskFiles } from './kit/spool/files.ts'
import { measureSpool, spoolProbe } from './kit/spool/observe.ts'
import { Spool } from './kit/spool/spool.ts'
import { clientCertificates } from './kit/tls/client-certificates.ts'
import type { TlsSettings } from './kit/tls/settings.ts'
import { watchMaterial } from './kit/tls/watched-material.ts'
import { topicFeedOpener } from './kit/topic-feed.ts'
import { watchedRedis } from './kit/watched/redis.ts'
import type { GuardKit, OpenService, ServiceKit } from './service.ts'
import { apiServices } from './services.ts'

/**
 * Starts the API with the configured services. The servers that the API depends on may start later. Until they are up,
 * requests that need them get a 503.
 */
export async function startApi(config: ApiConfig, log: Logger) {
  const { kafka, state, surroundings, publicUrl } = config
  const now = Date.now
  const monotonic = () => performance.now()
  const metrics = httpMetrics({ process: true })
  /**
   * Close functions in the order in which the parts were opened. Each part depends only on parts that were opened
   * before it, so the functions run in reverse order.
   */
  const closing: (() => unknown)[] = []

  const transport = apiTransport({ ...kafka, log })
  closing.push(transport.close)
  const redis = connectViewRedis({ url: state.redisUrl, cluster: state.redisCluster, log, monotonic })
  closing.push(redis.close)
  const tables = connectTables(state.clickhouse)
  closing.push(tables.close)
  const registry = registryClient({ url: kafka.schemaRegistryUrl })
  const guarding = apiServices.find((service) => service.openGuard !== undefined)
  const topics = [guarding, ...config.services.map(({ service }) => service)].flatMap((service) => service?.topics ?? [])
  const spool = await Spool.open({ ...config.spool, files: diskFiles, runtime: systemRuntime(log) })
  measureSpool(spool, metrics.registry, now)
  closing.push(() => spool.close())
  const facts = kafkaFacts({ transport, registry, topics: [...new Set(topics)], memory: redis.partitions, spool, log })
  closing.push(facts.close)
  const channel = redisResultChannel({ url: state.redisUrl, cluster: state.redisCluster, name: randomUUID(), log })
  const bindings = redisBindings(redis.bindings)
  // Commands that arrive shortly after one another start at the same moment, so that they share requests to Kafka.
  // Waiting for this moment costs little time, because one commit contains the decisions of several commands anyway.
  const started = sharedStart({ setTimer: systemTimers.setTimer, monotonic })
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, started, registry: metrics.registry, now })
  closing.push(commands.close)

  const trusted = addressRanges(config.trustedProxies)
  const limitedPaths = config.services.flatMap(({ service }) => service.limitedPaths)
  const common = { facts, trusted, state, log, now, monotonic }
  const guardKit: GuardKit = { ...common, transport, registry, metrics: metrics.registry, limitedPaths }
  const guard = await guarding?.openGuard?.(guardKit)
  closing.push(() => guard?.close())

  const { reader: views, shared: sharedViews } = redis
  const place = { url: state.redisUrl, cluster: state.redisCluster }
  const watchedViews = watchedRedis({ ...place, unwatched: sharedViews, log, now, setTimer: systemTimers.setTimer })
  closing.push(watchedViews.close)
  const tableOptions = { transport, registry, folder: config.tablesFolder, metrics: metrics.registry, log, now, monotonic }
  const kit: ServiceKit = {
    ...common,
    views,
    sharedViews,
    watchedViews,
    scripts: redis.scripts,
    tables: tables.reader,
    commands,
    packedTables: packedTableOpener(tableOptions),
    smallTables: smallTableOpener(tableOptions),
    topicFeeds: topicFeedOpener(tableOptions),
    feedSnapshots: feedSnapshotOpener({ ...tableOptions, files: diskFiles }),
    publicUrl,
    surroundings,
    metrics,
  }
  const services: OpenService[] = []
  closing.push(() => Promise.all(services.map((service) => service.close?.())))
  for (const { service, settings } of config.services) services.push(await service.open(kit, settings, guard))

  const dispensable = new Set(services.flatMap(({ worksWithout = [] }) => worksWithout))
  const ownProbes = [redis.probe, redis.evictionProbe, facts.probe, spoolProbe(spool, now), tables.probe]
  const ready = readiness([
    ...ownProbes.map((probe) => ({ ...probe, optional: probe.optional === true || dispensable.has(probe.name) })),
    ...(limitedPaths.length > 0 ? (guard?.probes ?? []) : []),
    ...services.flatMap((service) => service.probes),
  ])
  const { issuer, audience } = config.auth
  const verifier = tokenVerifier({ keys: await keySetFor(config.auth, now, { log, registry: metrics.registry }), issuer, audience, now })
  const answers = answerCache()
  const direct = directRoutes()
  const limits = guard?.requests
  const tls = config.tls && (await openTls(config.tls, { log, registry: metrics.registry, now }))
  closing.push(() => tls?.material.close())
  const app = createApp({
    services,
    verifier,
    log,
    metrics,
    readiness: ready,
    answers,
    direct,
    limits,
    trusted,
    certificateOf: tls?.clients.of,
    publicUrl,
    monotonic,
  })

  const connections = connectionGate({ ...config.connections, trusted, registry: metrics.registry })
  const serving = { app, answers, direct, metrics, readiness: ready, log, host: config.host, now, connections }
  const front = joinedFronts(services)
  const servers: RunningServer[] = [await startServer({ ...serving, front, port: config.port })]
  const addresses: Record<string, string> = {}
  if (config.tls !== undefined) {
    const server = await startServer({ ...serving, front, port: config.tls.port, portSetting: 'API_TLS_PORT', tls })
    servers.push(server)
    addresses.tls_url = server.url
  }
  for (const { logField, port, portSetting, front } of services.flatMap((service) => service.listeners ?? [])) {
    const server = await startServer({ ...serving, front, port, portSetting })
    servers.push(server)
    addresses[logField] = server.url
  }
  const operations = await startOperationsServer({ readiness: ready, metrics, ...config.operations })
  closing.push(operations.close)
  log.info(
    { url: servers[0].url, ...addresses, operations_url: operations.url, services: config.services.map(({ service }) => service.name) },
    'api_started',
  )

  /**
   * Stops the API. Reports not ready, so that no new requests are routed to this process, and waits a limited time for
   * running requests. Then closes all parts in the reverse order of opening.
   */
  async function stop(): Promise<void> {
    ready.startDraining()
    log.info({ delay_ms: config.drainDelayMs, timeout_ms: config.drainTimeoutMs }, 'api_draining')
    await new Promise((resolve) => setTimeout(resolve, config.drainDelayMs))
    for (const service of services) service.stopping?.()
    const cut = await Promise.all(servers.map((server) => server.close(config.drainTimeoutMs)))
    await closeAll(closing, log)
    log.info({ connections_cut: cut.reduce((sum, count) => sum + count, 0) }, 'api_stopped')
  }

  return { stop }
}

async function openTls({ files, clientNames }: TlsSettings, deps: { log: Logger; registry: Registry; now(): number }) {
  const material = await watchMaterial({ files, ...deps })
  return { material, clients: clientCertificates({ material: () => material.current, names: clientNames, now: deps.now }) }
}

/**
 * Combines the front handlers of the services into one, which tries them in order until one answers the request.
 * Returns undefined if no service has a front handler.
 */
function joinedFronts(services: readonly OpenService[]): FrontHandler | undefined {
  const fronts = services.flatMap(({ front }) => front ?? [])
  if (fronts.length <= 1) return fronts[0]
  return (request, response) => fronts.some((front) => front(request, response))
}
