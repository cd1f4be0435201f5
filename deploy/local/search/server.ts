import type { Component } from '../component.ts'
import { answersOk } from '../health.ts'
import { LOOPBACK } from '../ports.ts'
import { type ServerPlace, serverComponent } from '../server.ts'
import { searchCommand } from './java.ts'
import { ensureSearchProgram } from './program.ts'

/**
 * Time limit for starting. Starting takes 3-5 s on an idle machine, but recovering a large translog after kill -9 takes
 * longer.
 */
const START_TIMEOUT_MS = 120_000
const STOP_GRACE_MS = 20_000

export interface SearchOptions extends ServerPlace {
  readonly port: number
  /** Folder into which missing jars are downloaded. */
  readonly toolsDir: string
  readonly heapMb: number
  /** Command line that precedes the server's command, such as `nsenter` with its options. */
  readonly prefix?: readonly string[]
  /** JVM options in addition to the default ones. */
  readonly javaOptions?: readonly string[]
}

/** Describes OpenSearch as a single node that refuses requests from web pages. */
export function searchServer(options: SearchOptions): Component {
  const { port, dataDir, runDir, logFile, toolsDir, heapMb, javaOptions, prefix = [], name = 'search' } = options
  const address = `http://${LOOPBACK}:${port}`

  async function prepare() {
    const program = await ensureSearchProgram(toolsDir)
    const { command, args, env } = await searchCommand({ ...program, dataDir, port, logFile, heapMb, extra: javaOptions })
    const [first, ...rest] = [...prefix, command, ...args]
    return { command: first, args: rest, env }
  }

  return serverComponent({
    name,
    address,
    // A server that an earlier run started with another port or heap size is not reused.
    fingerprint: `${address} ${heapMb}`,
    ports: { OPENSEARCH_PORT: port },
    dataDir,
    logFile,
    runDir,
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare,
    isHealthy: () => answersOk(address, '/'),
  })
}
