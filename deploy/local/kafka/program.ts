import { realpath } from 'node:fs/promises'
import { ensureClassArchive } from '../java/class-archive.ts'
import { ensureKafkaJars } from './jars.ts'
import { temporaryBroker } from './temporary-broker.ts'

export interface BrokerProgram {
  readonly jars: string
  readonly archive: string | undefined
}

/**
 * Downloads the broker's jars and creates their class archive, unless these files exist.
 * @param toolsDir folder of the jars and the archive
 */
export async function ensureBrokerProgram(toolsDir: string): Promise<BrokerProgram> {
  // The class archive is bound to the real path of the jars, so symbolic links must be resolved.
  const jars = await realpath(await ensureKafkaJars(toolsDir))
  return { jars, archive: await ensureClassArchive(jars, await temporaryBroker(jars)) }
}
