import { join } from 'node:path'
import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import type { Transport } from '../../kafka/transport.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { startServers } from './servers.ts'

const STDERR = 2

/** A broker, and a transport that is connected to it. */
export interface BenchBroker {
  readonly brokers: string
  /** Process id of the broker; undefined for an external broker. */
  readonly pid: number | undefined
  readonly transport: Transport
  stop(): Promise<void>
}

/**
 * Returns a running broker.
 * @param given an external broker to use; if undefined, a broker is started in `folder`
 */
export async function startBroker(folder: string, given: string | undefined, logLevel: 'warn' | 'error'): Promise<BenchBroker> {
  const servers = given === undefined ? await startServers(join(folder, 'broker'), { names: ['kafka'] }) : undefined
  const brokers = given ?? (servers?.addresses.kafka as string)
  const transport = benchTransport(brokers, logLevel)
  async function stop(): Promise<void> {
    await transport.close()
    await servers?.stop()
  }
  try {
    await transport.connect()
  } catch (error) {
    await stop()
    throw error
  }
  return { brokers, pid: servers?.pids.kafka, transport, stop }
}

export function benchTransport(brokers: string, logLevel: 'silent' | 'warn' | 'error' = 'silent'): Transport {
  const log = pino({ level: logLevel }, pino.destination(STDERR))
  return kafkaTransport({ brokers: [brokers], clientId: 'bench' }, { runtime: systemRuntime(log) })
}
