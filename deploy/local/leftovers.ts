import { findChildren } from './child.ts'
import type { Home } from './home.ts'

const GRACE_MS = 5_000

/**
 * Stops the processes that a killed start left running, except servers that the new start can reuse. The code or
 * settings of workers, deciders, APIs and the demo may have changed, and nobody would stop a server that the new start
 * does not use.
 */
export async function stopLeftovers(home: Pick<Home, 'run'>, reusable: readonly string[]): Promise<void> {
  const processes = findChildren(home.run).filter(({ name }) => !reusable.includes(name))
  await Promise.all(processes.map((child) => child.stop(GRACE_MS)))
}
