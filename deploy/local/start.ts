import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { onStopSignal } from '../../scripts/command-line/stop-signal.ts'
import { ownServers } from './chosen-servers.ts'
import { localConfig } from './config.ts'
import { assertNotForeign, lockHome, openHome, resetHome } from './home.ts'
import { stopLeftovers } from './leftovers.ts'
import { progress } from './progress.ts'
import { localStack } from './stack.ts'
import declaration from './start.command.ts'
import { summary } from './summary.ts'
import { unreadyParts } from './unready-parts.ts'

/** Interval of a timer that only keeps the process alive. Its length does not matter. */
const KEEP_ALIVE_MS = 2 ** 30
const MS_PER_SECOND = 1_000
/**
 * How long the start waits for the processes to become ready. New processes need a few seconds to build their views,
 * but a worker may need much longer to restore its state. After the wait, the start prints the processes that are not
 * ready.
 */
const READY_TIMEOUT_MS = 60_000

async function main(): Promise<void> {
  const { reset: isReset } = commandLine(declaration)
  const config = localConfig()
  const report = progress((text) => process.stdout.write(text))
  const beginning = Date.now()
  report.say(`Starting Millrace in ${config.home}`)
  if (isReset) await resetHome(config.home)
  assertNotForeign(config.home)
  const home = openHome(config.home)
  const unlock = lockHome(home)
  let isInterrupted = false
  const interrupted = untilSignal().then(() => {
    isInterrupted = true
    return undefined
  })
  const stack = localStack(config, home, report)
  try {
    await stopLeftovers(home, ownServers(config))
    const starting = stack.start()
    const parts = await Promise.race([starting, interrupted])
    if (parts) {
      // If the stack starts no workers or no deciders, the user has to start these separately. The APIs become ready
      // only after that, so the start does not wait.
      const timeoutMs = config.workers > 0 && config.deciders > 0 ? READY_TIMEOUT_MS : 0
      const unready = await report.step('readiness', () => unreadyParts(parts, { timeoutMs, isOver: () => isInterrupted }))
      if (!isInterrupted) {
        const seconds = ((Date.now() - beginning) / MS_PER_SECOND).toFixed(1)
        report.say(`${unready.length === 0 ? 'Ready' : 'Started'} after ${seconds} s.`)
        for (const line of unready) report.say(line)
        if (unready.length > 0) report.say('Requests that need these parts fail until npm run status shows that they are ready.')
        report.say(summary(config, home, parts))
      }
      await interrupted
    }
    report.say('Stopping ...')
    await stack.stop()
    // An interrupted start fails. The failure is ignored, because only the end of the start matters here.
    await starting.catch(() => undefined)
    report.say('Stopped. To start again with the same data, run npm start.')
  } finally {
    unlock()
  }
}

/** Resolves at the first signal that stops this process. */
function untilSignal(): Promise<undefined> {
  return new Promise((resolve) => {
    // The child processes do not keep this process alive, so a timer has to.
    const alive = setInterval(() => undefined, KEEP_ALIVE_MS)
    onStopSignal(() => {
      clearInterval(alive)
      resolve(undefined)
    })
  })
}

await runMain(main)
// After a failed start, the process must exit explicitly, because the timer of `untilSignal` would keep it alive.
if (process.exitCode === 1) process.exit()
