import { Failure, logged } from './commands.mjs'
import { ENV, ROOT, SETUP_LOG } from './config.mjs'

/**
 * Returns the command and first arguments that run npm: the npm that started this process, with the Node of this
 * process, or else the `npm` on the PATH.
 */
export function startingNpm() {
  const cli = ENV.npm_execpath
  return cli && /npm-cli\.c?js$/.test(cli) ? [process.execPath, cli] : ['npm']
}

/** Runs npm. If npm fails, throws a Failure whose message gives the reason in one line. */
export function runNpm([command, ...first], args, cwd) {
  const quiet = ['--no-fund', '--no-audit', '--loglevel=error']
  return logged(command, [...first, ...args, ...quiet], cwd).catch((failure) => {
    const output = failure.output ?? ''
    if (/ENOSPC/.test(output)) throw new Failure(`npm packages: the disk is full. Free some space in ${ROOT} and try again`)
    const lines = output.split('\n').filter((line) => /^npm (error|ERR!) ./.test(line) && !/A complete log|code E/.test(line))
    const reason = (lines[0] ?? failure.message).replace(/^npm (error|ERR!)\s*/, '')
    throw new Failure(
      `npm packages could not be installed: ${reason}. Check the network (npm ping) and try again; details are in ${SETUP_LOG}`,
    )
  })
}
