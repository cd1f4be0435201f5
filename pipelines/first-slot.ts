import type { Runner } from './engine/index.ts'

/**
 * Restricts a job to the first worker slot of a machine: in all other slots, the returned job never runs. Several
 * machines may run the job at the same time, so the job must be idempotent.
 */
export function inFirstSlot({ slot }: { readonly slot: number }, job: Runner): Runner {
  return slot === 0 ? job : { ...job, start: async () => undefined }
}
