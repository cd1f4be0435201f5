import { randomUUID } from 'node:crypto'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { readPipelinesConfig } from '../../pipelines/config.ts'
import { sinkGroup } from '../../pipelines/engine/index.ts'
import { trendSinks } from '../../pipelines/trends/sinks.ts'
import { systemRuntime } from '../../runtime/system.ts'

/**
 * Runs the sinks of the trends service in this process, like a worker, but without the pipeline that produces lists.
 */
export async function startTrendSinks(env: Readonly<Record<string, string>>) {
  const config = readPipelinesConfig(env)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const runtime = systemRuntime(log)
  const transport = kafkaTransport({ brokers: [...config.brokers], clientId: 'test-sinks' }, { runtime })
  await transport.connect()
  const context = { config, transport, registry: registryClient({ url: config.schemaRegistryUrl }), runtime, resources: undefined }
  const group = sinkGroup({ groupId: 'test-sinks', memberId: randomUUID() }, { transport, runtime })
  const runners = trendSinks.map((sink) => sink.open(context, group.seat()))
  for (const runner of runners) await runner.start()
  return {
    async stop() {
      await Promise.all(runners.map((runner) => runner.stop()))
      await transport.close()
    },
  }
}
