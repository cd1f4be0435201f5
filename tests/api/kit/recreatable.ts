import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MemoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { type Transport, TransportError } from '../../../kafka/transport.ts'

/**
 * Creates a transport whose fetchers report that a topic was deleted and created again, like those of the Kafka
 * client.
 */
export function recreatable(broker: MemoryBroker) {
  const inner = memoryTransport(broker)
  let recreations = 0
  const transport: Transport = {
    ...inner,
    fetcher(options) {
      const fetcher = inner.fetcher(options)
      const opened = recreations
      async function poll(ms: number, maxBytes?: number) {
        const polled = opened === recreations ? await fetcher.poll(ms, maxBytes) : []
        if (opened !== recreations) throw new TransportError('TOPIC_RECREATED', 'the topic was recreated', { fatal: false })
        return polled
      }
      return { ...fetcher, poll }
    },
  }
  /** Deletes a topic and creates it again with the records that `fill` writes. */
  function recreate(name: string, fill: () => void): void {
    const spec = broker.topic(name)
    broker.deleteTopic(name)
    broker.createTopic(spec)
    recreations++
    fill()
  }
  return { transport, recreate }
}

/**
 * Starts to check a probe in every turn of the event loop.
 * @returns a function that stops the checks and returns the distinct results
 */
export function watchProbe(check: () => Promise<string | undefined>): () => Promise<(string | undefined)[]> {
  const answers = new Set<string | undefined>()
  const ended = new AbortController()
  async function watch(): Promise<void> {
    do {
      answers.add(await check())
      await nextTurn()
    } while (!ended.signal.aborted)
  }
  const watching = watch()
  return async () => {
    ended.abort()
    await watching
    return [...answers]
  }
}
