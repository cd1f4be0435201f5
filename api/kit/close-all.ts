import type { Logger } from './logging.ts'

/** Closes the parts of a process in reverse order. If a part fails to close, the other parts are still closed. */
export async function closeAll(closing: readonly (() => unknown)[], log: Pick<Logger, 'error'>): Promise<void> {
  for (const close of closing.toReversed()) {
    try {
      await close()
    } catch (error) {
      log.error({ reason: (error as Error).message }, 'part_not_closed')
    }
  }
}
