import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from './home.ts'
import type { ServerName } from './server-names.ts'

export type PartKind = ServerName | 'worker' | 'api' | 'demo'

/** A part of the running stack, shown as one line of `npm run status`. */
export interface RunPart {
  readonly name: string
  readonly kind: PartKind
  /** The address to which clients connect: host:port or a URL; empty for a process without a listener. */
  readonly address: string
  /** Base URL at which an API reports why it is not ready. Other parts have no such URL. */
  readonly operations?: string
  /** Path of the log file; undefined for a server that was not started by this stack. */
  readonly logFile: string | undefined
}

export interface RunFile {
  /** Pid of the `npm start` process. */
  readonly pid: number
  readonly startedAt: string
  readonly parts: readonly RunPart[]
}

function file(home: Pick<Home, 'run'>): string {
  return join(home.run, 'stack.json')
}

/** Replaces the file atomically, so that no process reads a partial file. */
export function writeRunFile(home: Home, run: RunFile): void {
  const next = `${file(home)}.next`
  writeFileSync(next, JSON.stringify(run, null, 2))
  renameSync(next, file(home))
}

export function readRunFile(home: Pick<Home, 'run'>): RunFile | undefined {
  return existsSync(file(home)) ? (JSON.parse(readFileSync(file(home), 'utf8')) as RunFile) : undefined
}

export function removeRunFile(home: Home): void {
  rmSync(file(home), { force: true })
}
