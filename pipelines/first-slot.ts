import type { Runner } from './engine/index.ts'

/**
 * Starts a job only in the first worker slot of a machine. Several machines may run the job at the same time, so the
 * job must be idempotent.
 */
export function inFirstSlot({ slot }: { readonly slot: number }, job: Runner): Runner {
  return slot === 0 ? job : { ...job, start: async () => undefined }
}
