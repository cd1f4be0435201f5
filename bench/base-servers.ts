import { join } from 'node:path'
import type { Component } from '../deploy/local/component.ts'
import { kafkaBroker } from '../deploy/local/kafka/broker.ts'
import { freePort } from '../deploy/local/ports.ts'
import { provisionTopics } from '../deploy/local/provision.ts'
import { redisServer } from '../deploy/local/redis.ts'
import { schemaRegistry } from '../deploy/local/registry/component.ts'
import { ROOT } from './node-process.ts'

const HEAP_MB = 256

/** What services need that keep nothing in ClickHouse. */
export interface BaseServers {
  readonly kafka: Component
  readonly redis: Component
  /** Settings with which processes of ours find these servers. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** A broker with all topics, a registry and Redis of a benchmark's own, in `folder`, on free ports. */
export async function startBaseServers(folder: string): Promise<BaseServers> {
  const place = (name: string) => ({ runDir: join(folder, 'run'), dataDir: join(folder, name), logFile: join(folder, `${name}.log`) })
  const ports = { client: await freePort(), controller: await freePort() }
  const kafka = kafkaBroker({ ...place('kafka'), ports, toolsDir: join(ROOT, '.millrace/tools'), heapMb: HEAP_MB })
  const redis = redisServer({ ...place('redis'), port: await freePort() })
  const registry = schemaRegistry({ ...place('registry'), port: await freePort(), brokers: kafka.address })
  async function stop(): Promise<void> {
    for (const server of [registry, redis, kafka]) await server.stop()
  }
  try {
    await Promise.all([kafka.start(), redis.start()])
    await registry.start()
    await provisionTopics(kafka.address, registry.address)
  } catch (error) {
    await stop()
    throw error
  }
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    // Nobody asks it.
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    MILLRACE_HOME: folder,
  }
  return { kafka, redis, env, stop }
}
