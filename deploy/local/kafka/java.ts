import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { javaEnvironment } from '../java/environment.ts'
import { type BrokerPorts, type BrokerSettings, brokerProperties } from './settings.ts'

const run = promisify(execFile)

const LOG_CONFIG = fileURLToPath(new URL('./log4j2.properties', import.meta.url))
const CLUSTER_ID_BYTES = 16
/**
 * JVM options. The parallel garbage collector pauses the broker for 5 ms instead of the serial collector's 20 ms, so
 * fewer transactions are delayed. The parallel collector needs no more memory. Small thread stacks save memory. The
 * perf-data file is switched off, because a killed JVM would leave it in /tmp.
 */
const JVM_OPTIONS = ['-XX:+UseParallelGC', '-XX:-UsePerfData', '-Xss512k', '-Djava.awt.headless=true']
/**
 * JVM options that delay the optimising compiler. They quadruple the number of calls after which a method is compiled.
 * With the default, the compiler uses a third of an idle broker's CPU time in the first minutes. Under load, methods
 * reach this number within seconds.
 */
const OPTIMISE_LATER = [
  '-XX:Tier4InvocationThreshold=20000',
  '-XX:Tier4MinInvocationThreshold=2400',
  '-XX:Tier4CompileThreshold=60000',
  '-XX:Tier4BackEdgeThreshold=160000',
]

export interface StorageOptions {
  readonly jars: string
  readonly dataDir: string
  readonly ports: BrokerPorts
  readonly logFile: string
  readonly settings?: BrokerSettings
  /** The class archive to use, if any. */
  readonly archive: string | undefined
}

/**
 * Writes the settings, and formats the storage on the first start. The file `formatted` is written last, so that the
 * next start repeats an interrupted formatting.
 * @returns the path of the settings file
 */
export async function formatStorage({ jars, dataDir, ports, logFile, settings, archive }: StorageOptions): Promise<string> {
  const properties = join(dataDir, 'server.properties')
  await writeFile(properties, brokerProperties(dataDir, ports, settings))
  const stamp = join(dataDir, 'formatted')
  if (existsSync(stamp)) return properties
  await rm(join(dataDir, 'logs'), { recursive: true, force: true })
  await mkdir(join(dataDir, 'logs'), { recursive: true })
  // One id in 64 begins with a dash, which the tool would parse as an option.
  const clusterId = randomBytes(CLUSTER_ID_BYTES).toString('base64url').replace(/^-/, 'A')
  const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties]
  const args = [...jvmArguments(logFile, archive), '-XX:TieredStopAtLevel=1', '-cp', join(jars, '*'), ...format]
  await run('java', args, { env: javaEnvironment() })
  await writeFile(stamp, clusterId)
  return properties
}

export interface BrokerCommandOptions {
  readonly jars: string
  readonly properties: string
  readonly logFile: string
  readonly heapMb: number
  readonly archive?: string
  readonly extra?: readonly string[]
}

export function brokerCommand({ jars, properties, logFile, heapMb, archive, extra = [] }: BrokerCommandOptions) {
  const args = [
    ...jvmArguments(logFile, archive),
    // Kafka unpacks native libraries into this folder. A killed JVM would leave them in /tmp.
    `-Djava.io.tmpdir=${dirname(properties)}`,
    `-Xmx${heapMb}m`,
    ...OPTIMISE_LATER,
    ...extra,
    '-cp',
    join(jars, '*'),
    'kafka.Kafka',
    properties,
  ]
  return { command: 'java', args, env: javaEnvironment() }
}

function jvmArguments(logFile: string, archive: string | undefined): string[] {
  const logging = [`-Dlog4j2.configurationFile=${LOG_CONFIG}`, `-Dmillrace.log=${logFile}`]
  return [...JVM_OPTIONS, ...(archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`]), ...logging]
}
