import { setTimeout as sleep } from 'node:timers/promises'
import { withoutPassword } from '../deploy/local/servers.ts'
import { kafkaTransport } from '../kafka/client/index.ts'
import { readKafkaSecurity } from '../kafka/config.ts'
import { registryClient } from '../kafka/registry.ts'
import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import { FencedError, type Transport, TransportError } from '../kafka/transport.ts'
import { systemRuntime } from '../runtime/system.ts'
import { runMain } from '../scripts/command-line/main.ts'
import { onStopSignal } from '../scripts/command-line/stop-signal.ts'
import { type StreamTarget, streamTarget } from './config.ts'

/**
 * Time limit for connecting to the servers and opening a producer. After this time, the servers are considered
 * unreachable.
 */
const CONNECT_TIMEOUT_MS = 15_000
/** Pause before sending is retried. */
const RETRY_MS = 2_000

/** Opens a producer on a connected transport. */
export type OpenProducer<P> = (transport: Transport, registry: SchemaRegistry) => Promise<P>

/** One run of a command that sends a stream of events. */
export interface StreamSession {
  readonly say: (line: string) => void
  readonly stopped: () => boolean
  /** Resolves after `ms`, or immediately when the user stops the command. */
  readonly pause: (ms: number) => Promise<void>
  /**
   * Runs `play` with a connected producer. If the servers fail, reports the failure and runs `play` again with a new
   * producer, until `play` completes or the user stops the command.
   * @throws UnreachableError when the servers cannot be reached at the start, and any error that is not a temporary
   * failure of the servers
   */
  produce<P extends ClosableProducer>(open: OpenProducer<P>, play: (producer: P) => Promise<void>): Promise<void>
}

interface ClosableProducer {
  close(): Promise<void>
}

/**
 * Runs a command. Prints an error as one line, and shuts down gracefully at the first Ctrl-C. If the command fails,
 * streams that are still running stop as well.
 */
export async function runStreamCommand(command: (session: StreamSession) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  onStopSignal(() => stop.abort())
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const pause = (ms: number) => sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
  const stopped = () => stop.signal.aborted

  async function produce<P extends ClosableProducer>(open: OpenProducer<P>, play: (producer: P) => Promise<void>): Promise<void> {
    const target = streamTarget()
    const security = readKafkaSecurity()
    let wasConnected = false
    while (!stopped()) {
      const transport = kafkaTransport(
        { ...security, brokers: [...target.brokers], clientId: 'millrace-tools' },
        { runtime: systemRuntime() },
      )
      try {
        const producer = await inTime(connect(), target)
        wasConnected = true
        await play(producer)
        await producer.close()
        return
      } catch (error) {
        if (!wasConnected || !isPassing(error)) throw error
        say(`sending failed (${(error as Error).message}); retrying in ${RETRY_MS / 1_000} s`)
        await pause(RETRY_MS)
      } finally {
        await transport.close().catch(() => {})
      }

      async function connect(): Promise<P> {
        await transport.connect()
        return await open(transport, registryClient({ url: target.registryUrl }))
      }
    }
  }

  await runMain(() => command({ say, stopped, pause, produce }).finally(() => stop.abort()))
}

/** Thrown when the servers do not respond in time, or when connecting fails. */
class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

function isPassing(error: unknown): boolean {
  return error instanceof UnreachableError || error instanceof FencedError || (error instanceof TransportError && !error.fatal)
}

async function inTime<T>(connecting: Promise<T>, { brokers, registryUrl }: StreamTarget): Promise<T> {
  const cure = 'start the servers with npm start, or set KAFKA_BROKERS and SCHEMA_REGISTRY_URL'
  const deadline = new AbortController()
  const late = sleep(CONNECT_TIMEOUT_MS, undefined, { signal: deadline.signal }).then(() => {
    throw new UnreachableError(
      `Kafka at ${brokers.join(',')} or the schema registry at ${withoutPassword(registryUrl)} did not respond within ${CONNECT_TIMEOUT_MS / 1_000} s: ${cure}`,
    )
  })
  try {
    return await Promise.race([connecting, late])
  } catch (error) {
    if (error instanceof UnreachableError) throw error
    throw new UnreachableError(
      `connecting to Kafka at ${brokers.join(',')} and the schema registry at ${withoutPassword(registryUrl)} failed (${(error as Error).message}): ${cure}`,
    )
  } finally {
    deadline.abort()
    connecting.catch(() => {})
    late.catch(() => {})
  }
}
