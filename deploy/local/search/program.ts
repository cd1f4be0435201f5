import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answersOk } from '../health.ts'
import { ensureClassArchive, type TemporaryServer } from '../java/class-archive.ts'
import { ensureJars } from '../java/jars.ts'
import { freePort, LOOPBACK } from '../ports.ts'
import { ensureNodeJar } from './compile.ts'
import { searchCommand } from './java.ts'

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url))
const PINS = fileURLToPath(new URL('./jars.sha256', import.meta.url))
const ARCHIVE_HEAP_MB = 256

export interface SearchProgram {
  readonly jars: string
  readonly nodeJar: string
  readonly archive: string | undefined
}

/**
 * Downloads the server's jars, compiles its main class and its plugin, and creates its class archive, unless these
 * files exist. All jars are downloaded again if one is missing or has the wrong size.
 * @param toolsDir folder of the jars and the archive
 */
export async function ensureSearchProgram(toolsDir: string): Promise<SearchProgram> {
  // The class archive is bound to the real path of the jars, so symbolic links must be resolved.
  const jars = await realpath(await ensureJars({ name: 'search', what: 'the search server', pom: POM, pins: PINS }, toolsDir))
  const nodeJar = await ensureNodeJar(jars)
  return { jars, nodeJar, archive: await ensureClassArchive(dirname(nodeJar), await temporaryServer(jars, nodeJar)) }
}

async function temporaryServer(jars: string, nodeJar: string): Promise<TemporaryServer> {
  const port = await freePort()
  return {
    launch: (dataDir, logFile, extra) => searchCommand({ jars, nodeJar, dataDir, port, logFile, heapMb: ARCHIVE_HEAP_MB, extra }),
    isHealthy: () => answersOk(`http://${LOOPBACK}:${port}`, '/'),
  }
}
