import { registryClient } from '../kafka/registry.ts'
import { SEEDED_RULES } from '../schemas/limits/rule.ts'
import { type ApiConfig, readApiConfig, type ServiceName } from './config.ts'
import { answerCache } from './kit/answer-cache.ts'
import { createApp } from './kit/app.ts'
import { isDecimalUserId } from './kit/auth/authorize.ts'
import { keySetFor } from './kit/auth/key-source.ts'
import { tokenVerifier } from './kit/auth/verify.ts'
import { connectTables } from './kit/clickhouse.ts'
import { kafkaFacts } from './kit/facts.ts'
import { trustedProxies } from './kit/limits/address.ts'
import { counterStore } from './kit/limits/counter-store.ts'
import { limiter } from './kit/limits/limiter.ts'
import { compileRules } from './kit/limits/matching.ts'
import { connectLimiterRedis } from './kit/limits/redis-scripts.ts'
import { requestLimits } from './kit/limits/request-limits.ts'
import { limitWatch } from './kit/limits/watch.ts'
import { createLogger, type Logger, standardOutput } from './kit/logging.ts'
import { httpMetrics } from './kit/metrics.ts'
import { readiness } from './kit/readiness.ts'
import { connectViewRedis } from './kit/redis.ts'
import { startServer } from './kit/server.ts'
import type { Service } from './kit/service.ts'
import { TRENDS_TOPICS, trendsService } from './trends/service.ts'

/** Starts the API of the services that the configuration names. Servers it needs may come later: it answers 503 until they are there. */
async function startApi(config: ApiConfig, log: Logger) {
  const now = Date.now
  const metrics = httpMetrics({ process: true })
  const redis = connectViewRedis({ url: config.redisUrl, cluster: config.redisCluster, log })
  const tables = connectTables(config.clickhouse)
  const facts = kafkaFacts({
    brokers: config.brokers,
    registry: registryClient({ url: config.schemaRegistryUrl }),
    topics: TRENDS_TOPICS,
    log,
  })
  const factories: Record<ServiceName, () => Service> = {
    trends: () => trendsService({ views: redis.reader, tables: tables.reader, facts, now }),
  }
  const services = config.services.map((name) => factories[name]())
  const ready = readiness([redis.probe, facts.probe, tables.probe, ...services.flatMap((service) => service.probes)])
  const verifier = tokenVerifier({
    keys: await keySetFor(config.auth, now),
    issuer: config.auth.issuer,
    audience: config.auth.audience,
    now,
  })
  const monotonic = () => performance.now()
  const limiterStore = connectLimiterRedis({ url: config.redisUrl, cluster: config.redisCluster })
  const watch = limitWatch({ registry: metrics.registry, log, monotonic })
  const rules = compileRules(SEEDED_RULES)
  const limits = requestLimits({
    limiter: limiter({ counters: counterStore({ scripts: limiterStore.scripts, monotonic, onFailure: watch.failed }), rules: () => rules }),
    clients: { find: () => undefined },
    trusted: trustedProxies(config.trustedProxies),
    watch,
    monotonic,
  })
  const answers = answerCache()
  const app = createApp({
    services,
    verifier,
    isUserId: isDecimalUserId,
    log,
    metrics,
    readiness: ready,
    answers,
    limits,
    publicUrl: config.publicUrl,
    monotonic,
  })
  const server = await startServer({ app, answers, metrics, readiness: ready, log, host: config.host, port: config.port, now })
  log.info({ url: server.url, services: config.services }, 'api_started')

  /** Told to stop: not ready at once, so that no new requests are sent here; running ones end; then the clients close. */
  async function stop(): Promise<void> {
    ready.startDraining()
    log.info({ delay_ms: config.drainDelayMs, timeout_ms: config.drainTimeoutMs }, 'api_draining')
    await new Promise((resolve) => setTimeout(resolve, config.drainDelayMs))
    const cut = await server.close(config.drainTimeoutMs)
    limiterStore.close()
    await Promise.all([redis.close(), tables.close(), facts.close()])
    log.info({ connections_cut: cut }, 'api_stopped')
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
