import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { REQUESTS_BEFORE_COMPILER } from '../java/compiler-priority.ts'
import { javaEnvironment } from '../java/environment.ts'
import { searchSettings } from './settings.ts'

const LOG_CONFIG = fileURLToPath(new URL('./log4j2.properties', import.meta.url))
/**
 * Minimum heap size for the concurrent collector. A smaller heap uses the serial collector, which needs the least
 * memory. With a larger heap, the pauses of the serial collector would take longer than a search.
 */
const SMALLEST_CONCURRENT_HEAP_MB = 768
const JVM_OPTIONS = [
  '-XX:-UsePerfData',
  '-Xss512k',
  '-XX:+ExitOnOutOfMemoryError',
  '-Djava.awt.headless=true',
  // The server stops in its own shutdown hook, which still needs the logger.
  '-Dlog4j.shutdownHookEnabled=false',
  '-Dlog4j2.disable.jmx=true',
  // Keeps network buffers in the heap, as OpenSearch's own start script does, so that the heap limit covers them.
  '-Dio.netty.allocator.numDirectArenas=0',
]

export interface SearchCommandOptions {
  readonly jars: string
  /** Jar with the main class and the plugin. */
  readonly nodeJar: string
  readonly dataDir: string
  readonly port: number
  readonly logFile: string
  readonly heapMb: number
  readonly archive?: string
  readonly extra?: readonly string[]
}

/** Writes the settings and returns the command that starts the server. */
export async function searchCommand({ jars, nodeJar, dataDir, port, logFile, heapMb, archive, extra = [] }: SearchCommandOptions) {
  const temporary = join(dataDir, 'tmp')
  const settings = join(dataDir, 'config', 'opensearch.yml')
  await mkdir(temporary, { recursive: true })
  await mkdir(dirname(settings), { recursive: true })
  await writeFile(settings, searchSettings(dataDir, port))
  const args = [
    ...JVM_OPTIONS,
    ...REQUESTS_BEFORE_COMPILER,
    heapMb < SMALLEST_CONCURRENT_HEAP_MB ? '-XX:+UseSerialGC' : '-XX:+UseG1GC',
    `-Xmx${heapMb}m`,
    `-Djava.io.tmpdir=${temporary}`,
    `-Dlog4j2.configurationFile=${LOG_CONFIG}`,
    `-Dmillrace.log=${logFile}`,
    ...(archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`]),
    ...extra,
    '-cp',
    `${nodeJar}:${join(jars, '*')}`,
    'SearchNode',
    dataDir,
  ]
  return { command: 'java', args, env: javaEnvironment() }
}
