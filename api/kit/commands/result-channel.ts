import { Cluster, Redis } from 'ioredis'
import { parseResultMessage, RESULT_CHANNEL_PREFIX, type ResultMessage } from '../../../state/views/results.ts'
import type { Logger } from '../logging.ts'

/** Where results for this API instance arrive. */
export interface ResultChannel {
  /** What commands carry as `reply_to`. */
  readonly name: string
  /** False: results would be missed, so that nothing should be asked. */
  readonly isOpen: boolean
  /** @param opened told whenever it is open again: what came meanwhile was missed */
  listen(listener: (result: ResultMessage) => void, opened: () => void): void
  close(): void
}

export interface ResultChannelOptions {
  readonly url: string
  /** True: `url` is any node of a cluster. */
  readonly cluster: boolean
  /** Differs between API instances and their lives. */
  readonly name: string
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 2_000
/** Redis restarts in less; retries stay this near to it. */
const LONGEST_RECONNECT_MS = 1_000
const RECONNECT_STEP_MS = 50

/** Subscribes on a connection of its own, now and after every loss. */
export function redisResultChannel({ url, cluster, name, log }: ResultChannelOptions): ResultChannel {
  const channel = RESULT_CHANNEL_PREFIX + name
  const common = { connectTimeout: CONNECT_TIMEOUT_MS, autoResubscribe: false, maxRetriesPerRequest: 0 }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? new Cluster([url], { redisOptions: { ...common, autoResubscribe: true }, clusterRetryStrategy: retryStrategy })
    : new Redis(url, { ...common, retryStrategy })
  let isOpen = false
  let onResult: (result: ResultMessage) => void = () => undefined
  let onOpen: () => void = () => undefined

  async function subscribe(): Promise<void> {
    try {
      await redis.subscribe(channel)
      isOpen = true
      onOpen()
    } catch (error) {
      // The connection was lost again; the next one subscribes.
      log.warn({ reason: (error as Error).message }, 'results_not_subscribed')
    }
  }

  redis.on('ready', () => void subscribe())
  redis.on('close', () => {
    isOpen = false
  })
  // The reader of views says what is wrong.
  redis.on('error', () => undefined)
  redis.on('message', (_channel: string, text: string) => onResult(parseResultMessage(text)))

  return {
    name,
    get isOpen() {
      return isOpen
    },
    listen(listener, opened) {
      onResult = listener
      onOpen = opened
    },
    close() {
      redis.disconnect()
    },
  }
}
