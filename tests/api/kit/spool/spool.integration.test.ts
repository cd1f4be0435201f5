import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaFacts } from '../../../../api/kit/facts.ts'
import { apiTransport } from '../../../../api/kit/kafka.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { diskFiles } from '../../../../api/kit/spool/files.ts'
import { Spool } from '../../../../api/kit/spool/spool.ts'
import type { Published } from '../../../../api/kit/spool/spooling-publisher.ts'
import type { SchemaRegistry } from '../../../../kafka/registry-interface.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { newTopic, readToEnd } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { AT_FIRST_TRY } from '../../../stack/index.ts'
import { newKafka } from '../../../stack/servers.ts'
import { suspend } from '../../../stack/suspend.ts'

const PARTITIONS = 2
const KEYS = ['a', 'b', 'c', 'd', 'e']
const SOON = { timeout: 60_000 }
const log = createLogger('silent')

test(
  'if a broker stops for longer than the time limit of a request, no record is lost or repeated, and the order per key is kept',
  AT_FIRST_TRY,
  async () => {
    const folder = guardedFolder()
    const kafka = await newKafka(folder.path)
    await kafka.start()
    const transport = apiTransport({ brokers: [kafka.address], log })
    await transport.connect()
    const name = await newTopic(transport, PARTITIONS)
    const topic: Topic<string, string> = { name, key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
    const spool = await Spool.open({ folder: join(folder.path, 'spool'), maxBytes: 10_000_000, files: diskFiles, runtime: systemRuntime() })
    const facts = kafkaFacts({ transport, registry: {} as SchemaRegistry, topics: [topic], spool, log })
    onTestFinished(async () => {
      await facts.close()
      await spool.close()
      await transport.close()
    })
    await expect.poll(() => facts.probe.check(), SOON).toBeUndefined()

    let sequence = 0
    async function publishFor(ms: number): Promise<Published[]> {
      const published: Promise<Published>[] = []
      const until = performance.now() + ms
      while (performance.now() < until) {
        for (const key of KEYS) published.push(facts.publishOrSpool(topic, key, `${sequence}`, { withinMs: 25, isDurable: true }))
        sequence++
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return await Promise.all(published)
    }

    await publishFor(300)
    const pid = kafka.pid as number
    await suspend(pid)
    let during: Published[]
    try {
      // Suspends Kafka for longer than the time limit of a request, so that the publisher must reconnect and retry the
      // request.
      during = await publishFor(6_000)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await publishFor(500)
    expect(new Set(during)).toEqual(new Set(['spooled']))
    await expect.poll(() => spool.state.records, SOON).toBe(0)
    await expect.poll(async () => (await publishFor(1)).every((one) => one === 'acknowledged'), SOON).toBe(true)
    const records = (await Promise.all([0, 1].map((partition) => readToEnd(transport, { topic: name, partition })))).flat()
    const expected = Array.from({ length: sequence }, (_, index) => `${index}`)
    await expect.poll(() => spool.state.records, SOON).toBe(0)
    for (const key of KEYS) expect(records.filter((record) => record.key === key).map(({ value }) => value)).toEqual(expected)
  },
)
