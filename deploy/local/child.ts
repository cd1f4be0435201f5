import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inheritedEnv } from './config.ts'
import { waitUntil } from './wait.ts'

/** Identifies a running process, even if a later process gets the same pid. */
export interface ProcessMark {
  readonly pid: number
  /** Start time of the process in clock ticks since boot, from /proc. */
  readonly startedAtTicks: string
}

interface ChildMark extends ProcessMark {
  /**
   * Identifies the settings with which the process was started. A running process with different settings is not
   * reused.
   */
  readonly fingerprint: string
}

export interface ChildSpec {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * Working folder. A server runs in its data folder. Tests use this folder to find servers that a killed run has left
   * running.
   */
  readonly cwd: string
  readonly logFile: string
  readonly runDir: string
  readonly fingerprint?: string
}

/** A process that was started by this run or an earlier one. */
export interface Child {
  readonly name: string
  readonly pid: number
  readonly fingerprint: string
  isRunning(): boolean
  /**
   * Resolves when the process ends. If an earlier run started the process, the code and the signal are null. Waiting
   * does not keep the caller's process alive.
   */
  whenExited(): Promise<ExitReason>
  /** Sends SIGTERM, and SIGKILL if the process still runs after `graceMs`; resolves when the process has ended. */
  stop(graceMs: number): Promise<void>
  /** Sends SIGKILL and waits until the process has ended. */
  kill(): Promise<void>
  /** Sends a signal if the process is still running. Benchmarks use it to pause a process. */
  signal(signal: NodeJS.Signals): void
}

export interface ExitReason {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Time limit for a killed process to end. It usually ends within milliseconds, but takes longer on a loaded machine or
 * if it writes a core dump.
 */
const KILL_TIMEOUT_MS = 15_000
/** Poll interval for a process that is not a child of this process. */
const FOREIGN_POLL_MS = 500
const MARK_EXTENSION = '.pid'
/**
 * Indexes into /proc/<pid>/stat after the command's closing bracket: the state is field 3, the start time is field 22.
 */
const STAT_STATE_INDEX = 0
const STAT_START_TIME_INDEX = 19

/** Returns the mark of a running process; undefined when there is none. A zombie counts as ended. */
export function processMark(pid: number): ProcessMark | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[STAT_STATE_INDEX] === 'Z') return undefined
    return { pid, startedAtTicks: fields[STAT_START_TIME_INDEX] }
  } catch {
    return undefined
  }
}

function isSameProcess(mark: ProcessMark): boolean {
  return processMark(mark.pid)?.startedAtTicks === mark.startedAtTicks
}

function markFile(runDir: string, name: string): string {
  return join(runDir, name + MARK_EXTENSION)
}

/**
 * Starts a process with its output in the log file, and writes its pid file. The process has a separate process group,
 * so that Ctrl-C in a terminal does not end it before `stop` is called.
 */
export async function startChild(spec: ChildSpec): Promise<Child> {
  mkdirSync(spec.runDir, { recursive: true })
  mkdirSync(spec.cwd, { recursive: true })
  const log = openSync(spec.logFile, 'a')
  try {
    const child = spawn(spec.command, [...spec.args], {
      cwd: spec.cwd,
      env: { ...inheritedEnv(), ...spec.env } as NodeJS.ProcessEnv,
      detached: true,
      stdio: ['ignore', log, log],
    })
    const exited = exitOf(child)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (error) => reject(new Error(`${spec.name}: ${spec.command} cannot be started: ${error.message}`)))
    })
    const mark: ChildMark = { ...(processMark(child.pid!) ?? { pid: child.pid!, startedAtTicks: '' }), fingerprint: spec.fingerprint ?? '' }
    try {
      writeFileSync(markFile(spec.runDir, spec.name), JSON.stringify(mark))
    } catch (error) {
      // If the pid file cannot be written, for example because the disk is full, nothing could find and stop the
      // process later.
      child.kill('SIGKILL')
      throw error
    }
    child.unref()
    return childOf(
      spec.name,
      spec.runDir,
      mark,
      () => exited,
      () => child.exitCode === null && child.signalCode === null,
    )
  } finally {
    closeSync(log)
  }
}

/** Finds the running process with this name, if any, by its pid file. */
export function findChild(runDir: string, name: string): Child | undefined {
  const file = markFile(runDir, name)
  if (!existsSync(file)) return undefined
  let mark: ChildMark
  try {
    mark = JSON.parse(readFileSync(file, 'utf8')) as ChildMark
  } catch {
    return undefined
  }
  if (!isSameProcess(mark)) return undefined
  const isRunning = () => isSameProcess(mark)
  async function whenExited(): Promise<ExitReason> {
    while (isRunning()) await delay(FOREIGN_POLL_MS, undefined, { ref: false })
    return { code: null, signal: null }
  }
  return childOf(name, runDir, mark, whenExited, isRunning)
}

/** Finds all running processes that have a pid file in the folder. */
export function findChildren(runDir: string): Child[] {
  if (!existsSync(runDir)) return []
  return readdirSync(runDir)
    .filter((file) => file.endsWith(MARK_EXTENSION))
    .flatMap((file) => findChild(runDir, file.slice(0, -MARK_EXTENSION.length)) ?? [])
}

function childOf(name: string, runDir: string, mark: ChildMark, whenExited: () => Promise<ExitReason>, isRunning: () => boolean): Child {
  const signal = (value: NodeJS.Signals) => {
    if (isRunning() && isSameProcess(mark)) process.kill(mark.pid, value)
  }
  const gone = (timeoutMs: number) => waitUntil(() => !isRunning(), { what: `the end of ${name} (pid ${mark.pid})`, timeoutMs })
  async function kill(): Promise<void> {
    signal('SIGKILL')
    await gone(KILL_TIMEOUT_MS)
    rmSync(markFile(runDir, name), { force: true })
  }
  async function stop(graceMs: number): Promise<void> {
    signal('SIGTERM')
    try {
      await gone(graceMs)
    } catch {
      await kill()
    }
    rmSync(markFile(runDir, name), { force: true })
  }
  return { name, pid: mark.pid, fingerprint: mark.fingerprint, isRunning, whenExited, stop, kill, signal }
}

function exitOf(child: ChildProcess): Promise<ExitReason> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
}

/** Matches the message with which a process of Millrace ends, such as `the worker stopped: …`. */
const LAST_WORDS = /^the .*(stopped|cannot start): /
const FAULT = /error|exception|fatal|fail|refused|denied|cannot/i
const FAULT_BYTES = 300

/**
 * Returns the log line that best explains why a process did not start. This is the message with which the process
 * ended. Without such a message, it is the last line that mentions an error or, if there is none, the last line. An
 * indented list after that line, such as a list of invalid settings, is included. Returns an empty text if the log
 * cannot be read.
 */
export function faultInLog(logFile: string): string {
  try {
    const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n')
    const isItem = (line: string) => /^ {2}\S/.test(line)
    const isFault = (line: string) => FAULT.test(line) && !line.startsWith('    at ') && !line.startsWith('\tat ')
    const ended = lines.findLastIndex((line) => LAST_WORDS.test(line))
    let first = ended >= 0 ? ended : lines.findLastIndex(isFault)
    if (first < 0) first = lines.length - 1
    while (first > 0 && isItem(lines[first])) first--
    const end = lines.findIndex((line, index) => index > first && !isItem(line))
    const shown = lines.slice(first, end < 0 ? undefined : end).map((line) => line.trim())
    return `${shown[0]} ${shown.slice(1).join('; ')}`.trim().slice(0, FAULT_BYTES)
  } catch {
    return ''
  }
}
