import { isKafkaHealthy } from '../health.ts'
import type { TemporaryServer } from '../java/class-archive.ts'
import { freePort, LOOPBACK } from '../ports.ts'
import { brokerCommand, formatStorage } from './java.ts'

const HEAP_MB = 256

/** Returns a temporary broker whose JVM writes the class archive. */
export async function temporaryBroker(jars: string): Promise<TemporaryServer> {
  const ports = { client: await freePort(), controller: await freePort() }
  return {
    async launch(dataDir, logFile, extra) {
      const properties = await formatStorage({ jars, dataDir, ports, logFile, archive: undefined })
      return brokerCommand({ jars, properties, logFile, heapMb: HEAP_MB, extra })
    },
    isHealthy: () => isKafkaHealthy(`${LOOPBACK}:${ports.client}`),
  }
}
