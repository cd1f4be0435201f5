import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { findChildren } from './child.ts'
import { localConfig } from './config.ts'
import { findHome, type Home, HomeError, lockHolder, lockHome, openHome, resetHome } from './home.ts'
import { progress } from './progress.ts'
import { localStack } from './stack.ts'
import declaration from './start.command.ts'
import { summary } from './summary.ts'

/** A second signal within it is the same Ctrl-C, come by another way; later ones mean impatience. */
const SAME_SIGNAL_MS = 1_000
/** Any long time: the timer only has to be there. */
const KEEP_ALIVE_MS = 2 ** 30
const LEFTOVER_GRACE_MS = 5_000
const MS_PER_SECOND = 1_000

async function main(): Promise<void> {
  const { reset: isReset } = commandLine(declaration)
  const config = localConfig()
  const report = progress((text) => process.stdout.write(text))
  const beginning = Date.now()
  report.say(`Millrace starts in ${config.home}`)
  if (isReset) await reset(config.home)
  const home = openHome(config.home)
  const unlock = lockHome(home)
  const interrupted = untilSignal()
  const stack = localStack(config, home, report)
  try {
    await stopLeftovers(home)
    const starting = stack.start()
    const parts = await Promise.race([starting, interrupted])
    if (parts) {
      report.say(`Ready after ${((Date.now() - beginning) / MS_PER_SECOND).toFixed(1)} s.\n${summary(config, home, parts)}`)
      await interrupted
    }
    report.say('Stopping ...')
    await stack.stop()
    // Cut short, it fails; what matters is that it has ended.
    await starting.catch(() => undefined)
    report.say('Stopped. Start again with npm start: it continues with the data it had.')
  } finally {
    unlock()
  }
}

async function reset(path: string): Promise<void> {
  const home = findHome(path)
  if (home) {
    const holder = lockHolder(home)
    if (holder !== undefined) throw new HomeError(`${path} is in use by a running \`npm start\` (pid ${holder}): stop it before --reset`)
    await Promise.all(findChildren(home.run).map((child) => child.kill()))
  }
  resetHome(path)
}

/** Workers and APIs of a start that was killed: their code or settings may have been others. Servers are taken over instead. */
async function stopLeftovers(home: Home): Promise<void> {
  const processes = findChildren(home.run).filter(({ name }) => /^(worker|decider|api)-\d+$|^demo$/.test(name))
  await Promise.all(processes.map((child) => child.stop(LEFTOVER_GRACE_MS)))
}

/** Resolves at the first SIGINT, SIGTERM or SIGHUP; a later one ends the process at once, whatever still runs. */
function untilSignal(): Promise<undefined> {
  let first = 0
  return new Promise((resolve) => {
    // The processes started here keep nothing alive.
    const alive = setInterval(() => undefined, KEEP_ALIVE_MS)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (first === 0) first = Date.now()
        else if (Date.now() - first > SAME_SIGNAL_MS) process.exit(1)
        clearInterval(alive)
        resolve(undefined)
      })
    }
  })
}

await runMain(main)
// Waiting for signals would keep a process alive that could not start.
if (process.exitCode === 1) process.exit()
