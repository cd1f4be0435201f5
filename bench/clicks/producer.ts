import { partitionFor } from '../../kafka/partitioner.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import { openSerdes } from '../../kafka/serdes.ts'
import type { Transport } from '../../kafka/transport.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { clicks } from '../../schemas/links/topics.ts'
import type { Click } from '../../schemas/links/types.ts'

/** Number of unsent bytes at which the producer flushes. */
const FULL_BYTES = 4 * 1024 * 1024

export interface ClickProducer {
  /** Sends a click. Waits only when there are many unsent bytes. */
  send(click: Click): Promise<void>
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Creates a producer that sends clicks in the same form as the redirect endpoint: Avro in the registry's format, keyed
 * by short code.
 */
export async function clickProducer(transport: Transport, registry: SchemaRegistry): Promise<ClickProducer> {
  const count = (await transport.partitionCounts([clicks.name])).get(clicks.name) as number
  const values = (await openSerdes(registry, [clicks])).codecFor(clicks)
  const producer = transport.producer({ compression: 'lz4' })
  await producer.init()
  const appenders = Array.from({ length: count }, (_, partition) => producer.appender(clicks.name, partition))
  const key = byteWriter()
  const value = byteWriter()

  async function flush(): Promise<void> {
    await producer.commit(new Map(), undefined)
  }

  return {
    async send(click) {
      key.length = 0
      value.length = 0
      clicks.key.encode(click.short_code, key)
      values.encode(click, value)
      const partition = partitionFor(key.buffer.subarray(0, key.length), count)
      appenders[partition].append(Date.now(), key.buffer, 0, key.length, value.buffer, 0, value.length)
      if (producer.pendingBytes > FULL_BYTES) await flush()
    },
    flush,
    close: () => producer.close(),
  }
}
