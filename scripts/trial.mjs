import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How often a run checks whether its parent process still exists. */
const PARENT_CHECK_MS = 1_000

/**
 * Creates the temporary folder of one run of a test or benchmark. Every descendant process inherits its name in the
 * environment, so that processes left over from a killed run (a broker, a Redis) can be found.
 */
export function trialFolder() {
  return mkdtempSync(join(tmpdir(), 'millrace-run-'))
}

/** Kills the processes that a run has left behind and removes its folder. Processes are only found on Linux. */
export function sweepTrial(folder) {
  for (const pid of processIds()) {
    if (!knowsFolder(pid, folder)) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already ended.
    }
  }
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Calls back once when the parent process has ended. This is needed because npm's shell does not forward the signals
 * that end it.
 */
export function whenOrphaned(callback) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    callback()
  }, PARENT_CHECK_MS)
  timer.unref()
}

function processIds() {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0)
  } catch {
    return []
  }
}

function knowsFolder(pid, folder) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`TMPDIR=${folder}`)
  } catch {
    return false
  }
}
