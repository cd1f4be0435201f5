import { randomUUID } from 'node:crypto'
import { registryClient } from '../kafka/registry.ts'
import { clicks as clicksTopic } from '../schemas/links/topics.ts'
import type { Click } from '../schemas/links/types.ts'
import { snippetReads } from '../schemas/snippets/topics.ts'
import type { AnyTopic } from '../schemas/topic.ts'
import { connectBlobs } from '../state/blobs/connect.ts'
import { type ApiConfig, readApiConfig, type ServiceName } from './config.ts'
import { answerCache } from './kit/answer-cache.ts'
import { createApp } from './kit/app.ts'
import { keySetFor } from './kit/auth/key-source.ts'
import { tokenVerifier } from './kit/auth/verify.ts'
import { connectTables } from './kit/clickhouse.ts'
import { trustedProxies } from './kit/client-address.ts'
import { createCommands } from './kit/commands/commands.ts'
import { redisBindings } from './kit/commands/idempotency.ts'
import { redisResultChannel } from './kit/commands/result-channel.ts'
import { type FactBuffer, factBuffer } from './kit/fact-buffer.ts'
import { kafkaFacts } from './kit/facts.ts'
import { apiTransport } from './kit/kafka.ts'
import { createLogger, type Logger, standardOutput } from './kit/logging.ts'
import { httpMetrics } from './kit/metrics.ts'
import { readiness } from './kit/readiness.ts'
import { connectViewRedis } from './kit/redis.ts'
import { type RunningServer, startServer } from './kit/server.ts'
import type { Service } from './kit/service.ts'
import { startLimits } from './limits/core/start.ts'
import { LIMITS_LIMITED_PATHS, LIMITS_TOPICS, limitsService } from './limits/service.ts'
import { shortDomains } from './links/domains.ts'
import { redirects } from './links/redirect.ts'
import { linksSecret } from './links/secret.ts'
import { LINKS_LIMITED_PATHS, LINKS_TOPICS, linksService } from './links/service.ts'
import { threadComparer } from './snippets/diff/comparer.ts'
import { threadHighlighter } from './snippets/page/highlighter.ts'
import { SNIPPETS_LIMITED_PATHS, SNIPPETS_TOPICS, snippetsService } from './snippets/service.ts'
import { contentStreams } from './snippets/streams.ts'
import { TRENDS_TOPICS, trendsService } from './trends/service.ts'

/** Clicks that wait for Kafka (docs/services/links.md#clicks): about 30 MB, encoded. */
const CLICKS_CAPACITY = 100_000
/** What a Kafka that is there takes for them. */
const LAST_CLICKS_MS = 2_000
/** Reads of snippets that wait for Kafka: some 20 MB. */
const READS_CAPACITY = 100_000
/** Topics by service: an API that leaves a service out needs nothing of it. */
const TOPICS: Record<ServiceName, readonly AnyTopic[]> = {
  trends: TRENDS_TOPICS,
  links: LINKS_TOPICS,
  snippets: SNIPPETS_TOPICS,
  limits: LIMITS_TOPICS,
}
/** Patterns of paths that rate limits cover, by service. */
const LIMITED_PATHS: Record<ServiceName, readonly string[]> = {
  trends: [],
  links: LINKS_LIMITED_PATHS,
  snippets: SNIPPETS_LIMITED_PATHS,
  limits: LIMITS_LIMITED_PATHS,
}

/** Starts the API of the services that the configuration names. Servers it needs may come later: it answers 503 until they are there. */
async function startApi(config: ApiConfig, log: Logger) {
  const now = Date.now
  const metrics = httpMetrics({ process: true })
  const { redisUrl: url, redisCluster: cluster } = config
  const redis = connectViewRedis({ url, cluster, log })
  const tables = connectTables(config.clickhouse)
  const topics = [...new Set([...LIMITS_TOPICS, ...config.services.flatMap((name) => TOPICS[name])])]
  const registry = registryClient({ url: config.schemaRegistryUrl })
  const transport = apiTransport({ brokers: config.brokers, log })
  const facts = kafkaFacts({ transport, registry, topics, memory: redis.partitions, log })
  const commands = createCommands({
    facts,
    reader: redis.reader,
    bindings: redisBindings(redis.bindings),
    channel: redisResultChannel({ url, cluster, name: randomUUID(), log }),
    registry: metrics.registry,
    now,
  })
  const monotonic = () => performance.now()
  const trusted = trustedProxies(config.trustedProxies)
  const limitedPaths = config.services.flatMap((name) => LIMITED_PATHS[name])
  const limits = await startLimits({
    ...config,
    transport,
    trusted,
    limitedPaths,
    registry,
    facts,
    metrics: metrics.registry,
    log,
    now,
    monotonic,
  })
  const views = redis.reader
  const domains = shortDomains(config.links.domains)
  const secret = await linksSecret(config.links.secret)
  const blobs = await connectBlobs(config.blobs)
  const highlighter = threadHighlighter()
  const comparer = threadComparer()
  const counted = factBuffer({
    open: () => facts.openLog(snippetReads),
    capacity: READS_CAPACITY,
    registry: metrics.registry,
    name: 'snippet_reads',
    log,
  })
  const factories: Record<ServiceName, () => Service> = {
    trends: () => trendsService({ views, tables: tables.reader, facts, now }),
    links: () => linksService({ views, tables: tables.reader, facts, commands, domains, secret, now }),
    limits: () => limitsService({ ...limits, commands, tables: tables.reader, now }),
    snippets: () =>
      snippetsService({
        views,
        tables: tables.reader,
        facts,
        commands,
        blobs,
        streams: contentStreams(),
        counted,
        highlighter,
        comparer,
        publicUrl: config.publicUrl,
        now,
      }),
  }
  const services = config.services.map((name) => factories[name]())
  const ready = readiness([
    redis.probe,
    facts.probe,
    tables.probe,
    ...(limitedPaths.length > 0 ? limits.settings.probes : []),
    ...services.flatMap((service) => service.probes),
  ])
  const verifier = tokenVerifier({
    keys: await keySetFor(config.auth, now),
    issuer: config.auth.issuer,
    audience: config.auth.audience,
    now,
  })
  const answers = answerCache()
  const app = createApp({
    services,
    verifier,
    log,
    metrics,
    readiness: ready,
    answers,
    limits: limits.requests,
    trusted,
    publicUrl: config.publicUrl,
    monotonic,
  })
  const servers: RunningServer[] = []
  const common = { app, answers, metrics, readiness: ready, log, host: config.host, now }
  let clicks: FactBuffer<string, Click> | undefined
  if (config.services.includes('links')) {
    clicks = factBuffer({
      open: () => facts.openLog(clicksTopic),
      capacity: CLICKS_CAPACITY,
      registry: metrics.registry,
      name: 'clicks',
      log,
    })
    const { countryHeader } = config.links
    const { listener, front } = redirects({ views: redis.shared, facts, clicks, domains, trusted, countryHeader, metrics, log, now })
    servers.push(await startServer({ ...common, front, port: config.port }))
    servers.push(await startServer({ ...common, front: listener, port: config.links.shortPort, portSetting: 'SHORT_PORT' }))
  } else {
    servers.push(await startServer({ ...common, port: config.port }))
  }
  const [{ url: address }, short] = servers
  log.info({ url: address, short_url: short?.url, services: config.services }, 'api_started')

  /** Told to stop: not ready at once, so that no new requests are sent here; running ones end; then the clients close. */
  async function stop(): Promise<void> {
    ready.startDraining()
    log.info({ delay_ms: config.drainDelayMs, timeout_ms: config.drainTimeoutMs }, 'api_draining')
    await new Promise((resolve) => setTimeout(resolve, config.drainDelayMs))
    const cut = await Promise.all(servers.map((server) => server.close(config.drainTimeoutMs)))
    await Promise.all([clicks?.close(LAST_CLICKS_MS), counted.close(LAST_CLICKS_MS), highlighter.close(), comparer.close()])
    commands.close()
    await limits.close()
    await Promise.all([redis.close(), tables.close(), facts.close()])
    await transport.close()
    log.info({ connections_cut: cut.reduce((sum, count) => sum + count, 0) }, 'api_stopped')
  }

  return { stop }
}

async function main(): Promise<void> {
  const config = readApiConfig()
  const log = createLogger(config.logLevel, standardOutput())
  const api = await startApi(config, log)
  let isStopping = false

  /** The second signal is somebody who does not want to wait. */
  function onSignal(): void {
    if (isStopping) process.exit(1)
    isStopping = true
    void api.stop().then(() => process.exit(0))
  }

  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`the API cannot start: ${(error as Error).message}\n`)
  process.exit(1)
}
