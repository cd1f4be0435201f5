import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How often a trial looks whether anybody still waits for it. */
const PARENT_CHECK_MS = 1_000

/**
 * The temporary folder of one run of a test or benchmark. Whatever the run starts inherits it, however deep: so what is left when the run was killed
 * (a broker, a Redis) is found by it.
 */
export function trialFolder() {
  return mkdtempSync(join(tmpdir(), 'millrace-run-'))
}

/** Ends what a run has left behind, and removes its folder. Processes are found on Linux only. */
export function sweepTrial(folder) {
  for (const pid of processIds()) {
    if (!knowsFolder(pid, folder)) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  rmSync(folder, { recursive: true, force: true })
}

/** Calls back once when the process that has started this one is gone: npm's shell does not hand on the signals that end it. */
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
