import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { type BrokerProxy, brokerProxy } from '../kafka/client/broker-proxy.ts'
import type { WorkerArguments, WorkerOrder, WorkerReport } from './children/worker.ts'
import type { Damage, Settings } from './schedule.ts'
import { type SmallDisk, smallDisk } from './small-disk.ts'

/** Returned instead of an exit code for a process that a signal has ended. */
export const ENDED_BY_SIGNAL = -1
const WORKER = join(import.meta.dirname, 'children/worker.ts')
/** How long the slot, like a supervisor, waits before it restarts a process that has ended unexpectedly. */
const RESTART_AFTER_MS = 500
const EXIT_TIMEOUT_MS = 40_000
/** Files that the database needs. The loss of any other file in the folder does no harm. */
const DATABASE_FILES = /\.(sst|log)$|^(MANIFEST|CURRENT)/
const FLIPPED_BYTES = 64

export interface SlotOptions {
  readonly slot: number
  /** Addresses of the brokers, host:port. */
  readonly brokers: readonly string[]
  readonly topology: string
  /** Whether the worker also runs the stateless topology that copies orders. */
  readonly copies: boolean
  /** A folder that no other slot uses. */
  readonly folder: string
  readonly transactionTimeoutMs: number
  readonly settings: Settings
  /** Whether the state is on a small disk that a fault can fill. */
  readonly onSmallDisk: boolean
}

/**
 * A slot for successive worker processes: the state folder, the proxy to the broker, and the current process, if any.
 */
export interface WorkerSlot {
  readonly slot: number
  readonly network: BrokerProxy
  readonly disk: SmallDisk | undefined
  readonly logFile: string
  readonly pid: number | undefined
  /** The latest status report of the current process, or undefined if it has sent none. */
  readonly report: WorkerReport | undefined
  /** How often a process ended unexpectedly. */
  readonly crashes: number
  /** How often the worker was fenced, over all processes of the slot. */
  readonly fences: number
  start(): void
  kill(): Promise<void>
  /**
   * Sends SIGTERM, resumes the process if it is suspended, and waits for its end.
   * @returns the exit code, ENDED_BY_SIGNAL, or undefined if there was no process
   */
  leave(): Promise<number | undefined>
  tell(order: WorkerOrder): void
  stop(): void
  go(): void
  /** Returns true while a signal suspends the process. */
  isStopped(): boolean
  /** Resolves when the process that was running at the time of the call has ended. */
  whenExited(): Promise<void>
  /**
   * Announces that the process is about to end by itself. Its end then neither counts as a crash nor causes a restart.
   */
  expectExit(): void
  wipe(): void
  /** @returns the name of the damaged file, or undefined if the folder contains no file of the database */
  damage(how: Damage, file: number): string | undefined
  /** Ends the process and removes the disk and the proxy. */
  close(): Promise<void>
}

export async function workerSlot(options: SlotOptions): Promise<WorkerSlot> {
  const { slot, folder } = options
  const state = join(folder, 'state')
  const logFile = join(folder, 'worker.log')
  mkdirSync(state, { recursive: true })
  const network = await brokerProxy(options.brokers, { remember: false })
  const disk = options.onSmallDisk ? await smallDisk(folder, state) : undefined
  /** The state folder's path as seen from this process. */
  const reach = disk?.reach ?? state
  let child: ChildProcess | undefined
  let exited: Promise<void> = Promise.resolve()
  let report: WorkerReport | undefined
  let crashes = 0
  let fencesBefore = 0
  let exitExpected = false
  let closed = false

  function start(): void {
    if (child !== undefined || closed) return
    const { topology, copies, transactionTimeoutMs, settings } = options
    const given: WorkerArguments = { brokers: network.addresses, topology, copies, folder: state, transactionTimeoutMs, settings }
    const log = openSync(logFile, 'a')
    const [command, ...args] = [...(disk?.enter ?? []), process.execPath, WORKER, JSON.stringify(given)]
    const started = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log, 'ipc'] })
    closeSync(log)
    child = started
    exitExpected = false
    started.on('message', (message: WorkerReport) => {
      if (child === started) report = message
    })
    exited = new Promise((resolve) => {
      started.once('exit', () => {
        child = undefined
        fencesBefore += report?.fences ?? 0
        report = undefined
        resolve()
        if (!exitExpected) void startAgain()
      })
    })
  }

  async function startAgain(): Promise<void> {
    crashes++
    await delay(RESTART_AFTER_MS)
    start()
  }

  async function kill(): Promise<void> {
    exitExpected = true
    child?.kill('SIGKILL')
    await exited
  }

  const isStopped = () => child?.pid !== undefined && processState(child.pid) === 'T'

  return {
    slot,
    network,
    disk,
    logFile,
    get pid() {
      return child?.pid
    },
    get report() {
      return report
    },
    get crashes() {
      return crashes
    },
    get fences() {
      return fencesBefore + (report?.fences ?? 0)
    },
    start,
    kill,
    async leave() {
      const leaving = child
      if (leaving === undefined) return undefined
      exitExpected = true
      leaving.kill('SIGTERM')
      const hasEnded = () => {
        // The process may have suspended itself only now, because it has just reached the commit step of an `at-step`
        // order.
        if (isStopped()) leaving.kill('SIGCONT')
        return leaving.exitCode !== null || leaving.signalCode !== null
      }
      await waitUntil(hasEnded, { what: `the end of worker ${slot} after SIGTERM`, timeoutMs: EXIT_TIMEOUT_MS })
      return leaving.exitCode ?? ENDED_BY_SIGNAL
    },
    tell(order) {
      if (child?.connected === true) child.send(order, () => {}) // Ignores the error if the child has just ended and cannot receive the message.
    },
    stop: () => void child?.kill('SIGSTOP'),
    go: () => void child?.kill('SIGCONT'),
    isStopped,
    whenExited: () => exited,
    expectExit() {
      exitExpected = true
    },
    wipe() {
      for (const name of readdirSync(reach)) if (name !== disk?.filler) rmSync(join(reach, name), { recursive: true, force: true })
    },
    damage(how, file) {
      const names = readdirSync(reach)
        .filter((name) => DATABASE_FILES.test(name))
        .sort()
      if (names.length === 0) return undefined
      const name = names[file % names.length]
      damageFile(join(reach, name), how)
      return name
    },
    async close() {
      closed = true
      await kill()
      await network.close()
      disk?.close()
    },
  }
}

/**
 * Describes a graceful stop that has failed.
 * @param code what `leave` returned
 */
export function failedStop(who: string, code: number | undefined): string {
  if (code === undefined) return `${who} had no process that could be stopped`
  return `after SIGTERM, ${code === ENDED_BY_SIGNAL ? `a signal ended the process of ${who}` : `the process of ${who} exited with code ${code}`}`
}

function damageFile(path: string, how: Damage): void {
  if (how === 'delete') rmSync(path)
  else if (how === 'truncate') truncateSync(path, Math.floor(statSync(path).size / 2))
  else flipMiddle(path)
}

function flipMiddle(path: string): void {
  const bytes = readFileSync(path)
  const from = Math.floor(bytes.length / 2)
  for (let at = from; at < Math.min(from + FLIPPED_BYTES, bytes.length); at++) bytes[at] ^= 0xff
  writeFileSync(path, bytes)
}

/** Returns the state letter of a process from /proc, such as T for a stopped one; undefined if the process is gone. */
function processState(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2]
  } catch {
    return undefined
  }
}
