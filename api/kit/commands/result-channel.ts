import { Redis } from 'ioredis'
import { connectCluster } from '../../../state/redis/cluster.ts'
import { SILENT_SOCKET_MS } from '../../../state/redis/connect-scripts.ts'
import { parseResultMessage, RESULT_CHANNEL_PREFIX, type ResultMessage } from '../../../state/views/results.ts'
import type { Logger } from '../logging.ts'

/** Receives the results of commands that this API instance sent. */
export interface ResultChannel {
  /** Name of the channel. Commands carry it as `reply_to`. */
  readonly name: string
  /** Whether results can be received. While false, results would be missed, so no command should be sent. */
  readonly isOpen: boolean
  /**
   * Sets the listener that receives the results.
   * @param opened called whenever the channel opens, so that the listener can look for results that were published
   * while the channel was closed
   */
  listen(listener: (result: ResultMessage) => void, opened: () => void): void
  /**
   * Sends a request to Redis, and replaces the connection if no answer arrives. Should be called when a message seems
   * to be lost, or when Redis does not respond on another connection, because a connection without requests does not
   * show that the host of Redis is gone. In a cluster, this function does nothing.
   */
  check(): void
  close(): void
}

export interface ResultChannelOptions {
  readonly url: string
  /** Whether `url` is the address of a node of a Redis cluster. */
  readonly cluster: boolean
  /** Name of the channel. It must differ between API instances and between restarts. */
  readonly name: string
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 2_000
/** Longest pause between attempts to reconnect. A longer pause would delay results after a restart of Redis. */
const LONGEST_RECONNECT_MS = 1_000
const RECONNECT_STEP_MS = 50
/** Pause after Redis has refused the subscription, for example because it is loading its data. */
const RESUBSCRIBE_MS = 1_000

/** Creates a channel. It subscribes on a separate connection at the start and after every connection loss. */
export function redisResultChannel({ url, cluster, name, log }: ResultChannelOptions): ResultChannel {
  const channel = RESULT_CHANNEL_PREFIX + name
  const common = { connectTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENT_SOCKET_MS, autoResubscribe: false, maxRetriesPerRequest: 0 }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? connectCluster(url, { redisOptions: { ...common, autoResubscribe: true }, clusterRetryStrategy: retryStrategy })
    : new Redis(url, { ...common, retryStrategy })
  let isOpen = false
  let isChecking = false
  let retry: NodeJS.Timeout | undefined
  let onResult: (result: ResultMessage) => void = () => undefined
  let onOpen: () => void = () => undefined

  async function subscribe(): Promise<void> {
    try {
      await redis.subscribe(channel)
      isOpen = true
      onOpen()
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'results_not_subscribed')
      clearTimeout(retry)
      retry = setTimeout(subscribeAgain, RESUBSCRIBE_MS)
      retry.unref()
    }
  }

  function subscribeAgain(): void {
    // If the connection was lost, the channel subscribes on the next connection.
    if (!isOpen && redis.status === 'ready') void subscribe()
  }

  redis.on('ready', () => void subscribe())
  redis.on('close', () => {
    isOpen = false
  })
  // The errors are not logged here, because the connection that reads views logs the same errors.
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
    check() {
      // The client of a cluster would send the request on a connection without subscriptions.
      if (!isOpen || cluster || isChecking) return
      // While Redis does not respond, thousands of waiting requests may call `check`, but one check is enough.
      isChecking = true
      const checked = () => {
        isChecking = false
      }
      redis.ping().then(checked, checked)
    },
    close() {
      clearTimeout(retry)
      redis.disconnect()
    },
  }
}
