import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { type Child, type ChildSpec, faultInLog, findChild, startChild } from './child.ts'
import type { Component } from './component.ts'
import { portObstacle } from './ports.ts'
import { waitUntil } from './wait.ts'

/** The folders and files of one server. */
export interface ServerPlace {
  readonly dataDir: string
  readonly runDir: string
  readonly logFile: string
  /** Name of the server. The default is its kind, such as `kafka`. */
  readonly name?: string
}

export interface ServerSpec extends ServerPlace {
  readonly name: string
  readonly address: string
  /** Identifies the settings that a running process must have to be reused. By default, this is the address. */
  readonly fingerprint?: string
  /**
   * Ports that the server will use, keyed by the names of their settings. The ports are checked before the start, so
   * that the user gets an error that names the port and its setting instead of a stack trace.
   */
  readonly ports: Readonly<Record<string, number>>
  readonly startTimeoutMs: number
  readonly stopGraceMs: number
  /** True to reuse a process that an earlier run left running; false to stop it. Default true. */
  readonly reuse?: boolean
  /** Prepares everything that the process needs, and returns the command that starts it. */
  prepare(): Promise<Pick<ChildSpec, 'command' | 'args' | 'env'>>
  isHealthy(): Promise<boolean>
}

const OBSTACLES = {
  taken: 'is in use by another program. Stop it, or choose',
  forbidden: 'may be used only by root. Choose',
} as const

/** Creates a component that consists of one child process. */
export function serverComponent(spec: ServerSpec): Component {
  let child: Child | undefined
  let starting: Promise<'started' | 'reused'> | undefined
  /** True from a call to `stop` until the next start. */
  let stopped = false
  const fingerprint = spec.fingerprint ?? spec.address

  function start(): Promise<'started' | 'reused'> {
    stopped = false
    starting = launchOrTakeOver().finally(() => {
      starting = undefined
    })
    return starting
  }

  async function stop(): Promise<void> {
    stopped = true
    await child?.stop(spec.stopGraceMs)
    // An interrupted start fails. `start` reports the failure to its caller, so the failure is ignored here.
    await starting?.catch(() => undefined)
    await child?.stop(spec.stopGraceMs)
    child = undefined
  }

  async function launchOrTakeOver(): Promise<'started' | 'reused'> {
    const found = findChild(spec.runDir, spec.name)
    if (found && (await takeOver(found))) return 'reused'
    await checkFree()
    mkdirSync(spec.dataDir, { recursive: true })
    const launch = await spec.prepare()
    if (stopped) throw new Error(`${spec.name}: stopped before it was started`)
    // The previous log is kept, because it shows why the last process ended.
    if (existsSync(spec.logFile)) renameSync(spec.logFile, `${spec.logFile}.previous`)
    child = await startChild({
      ...launch,
      name: spec.name,
      cwd: spec.dataDir,
      logFile: spec.logFile,
      runDir: spec.runDir,
      fingerprint,
    })
    await awaitHealthy(child)
    return 'started'
  }

  async function checkFree(): Promise<void> {
    for (const [setting, port] of Object.entries(spec.ports)) {
      const obstacle = await portObstacle(port)
      if (obstacle !== undefined) throw new Error(`${spec.name}: port ${port} ${OBSTACLES[obstacle]} another port with ${setting}`)
    }
  }

  async function takeOver(found: Child): Promise<boolean> {
    if (spec.reuse !== false && found.fingerprint === fingerprint) {
      try {
        await awaitHealthy(found)
        child = found
        return true
      } catch {
        // The process is running but does not respond. It is stopped below and started again.
      }
    }
    await found.stop(spec.stopGraceMs)
    return false
  }

  async function awaitHealthy(starting: Child): Promise<void> {
    try {
      await waitUntil(spec.isHealthy, {
        what: spec.name,
        timeoutMs: spec.startTimeoutMs,
        givenUp() {
          if (stopped) return 'stopped before it responded'
          return starting.isRunning() ? undefined : 'the process has ended'
        },
      })
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${faultInLog(spec.logFile)} (log: ${spec.logFile})`)
    }
  }

  return {
    name: spec.name,
    address: spec.address,
    logFile: spec.logFile,
    async checkPorts() {
      if (findChild(spec.runDir, spec.name) === undefined) await checkFree()
    },
    start,
    isHealthy: () => spec.isHealthy().catch(() => false),
    whenExited: () => child!.whenExited(),
    stop,
    async kill() {
      await child?.kill()
      child = undefined
    },
    get pid() {
      return child?.isRunning() ? child.pid : undefined
    },
  }
}
