import { partitionFor } from '../../kafka/partitioner.ts'
import { registryClient } from '../../kafka/registry.ts'
import { openSerdes } from '../../kafka/serdes.ts'
import { seededLimits } from '../../schemas/catalogue.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { limitRules } from '../../schemas/limits/topics.ts'
import { benchTransport } from './broker.ts'
import type { BenchServers } from './servers.ts'

/**
 * Makes all seeded rate limits inactive, as if an administrator had deleted them before a load test
 * (docs/services/limits.md#seeded-rules). Must be called before the API starts.
 */
export async function liftSeededLimits({ addresses }: Pick<BenchServers, 'addresses'>): Promise<void> {
  const transport = benchTransport(addresses.kafka)
  await transport.connect()
  const count = (await transport.partitionCounts([limitRules.name])).get(limitRules.name) as number
  const values = (await openSerdes(registryClient({ url: addresses.registry }), [limitRules])).codecFor(limitRules)
  const producer = transport.producer({ compression: 'lz4' })
  await producer.init()
  for (const rule of seededLimits) {
    const [key, value] = [byteWriter(), byteWriter()]
    limitRules.key.encode(rule.rule_id, key)
    values.encode({ ...rule, is_active: false }, value)
    const partition = partitionFor(key.buffer.subarray(0, key.length), count)
    producer.appender(limitRules.name, partition).append(Date.now(), key.buffer, 0, key.length, value.buffer, 0, value.length)
  }
  await producer.commit(new Map(), undefined)
  await producer.close()
  await transport.close()
}
