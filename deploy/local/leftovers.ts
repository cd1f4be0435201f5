import { findChildren } from './child.ts'
import type { Home } from './home.ts'

const GRACE_MS = 5_000

/**
 * Stops the processes that a killed start left running, except servers that the new start can reuse. Workers, deciders,
 * APIs and the demo are always stopped, because their code or settings may have changed.
 */
export async function stopLeftovers(home: Pick<Home, 'run'>, reusable: readonly string[]): Promise<void> {
  const processes = findChildren(home.run).filter(({ name }) => !reusable.includes(name))
  await Promise.all(processes.map((child) => child.stop(GRACE_MS)))
}
