import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ENV, ROOT, SETUP_LOG } from './config.mjs'

/** An error whose message is printed for the user without a stack trace. */
export class Failure extends Error {}

/** Runs a step of the setup, and reports what is being installed and how long it took. */
export async function step(what, work) {
  const start = Date.now()
  process.stderr.write(`  installing ${what} ...\n`)
  await work()
  process.stderr.write(`  installed ${what} in ${((Date.now() - start) / 1000).toFixed(1)} s\n`)
}

/** Runs a command and writes its output to the setup log. If the exit code is not 0, the error contains that output. */
export function logged(command, args, cwd = ROOT, env = {}) {
  mkdirSync(dirname(SETUP_LOG), { recursive: true })
  const start = existsSync(SETUP_LOG) ? readFileSync(SETUP_LOG).length : 0
  const log = openSync(SETUP_LOG, 'a')
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', log, log], env: { ...ENV, ...env } })
    child.on('error', fail)
    child.on('exit', (code) => {
      if (code === 0) return done()
      const output = readFileSync(SETUP_LOG).subarray(start).toString()
      fail(Object.assign(new Error(`${command} exited with code ${code}`), { output }))
    })
  })
}
